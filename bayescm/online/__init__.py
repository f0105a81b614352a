"""
Monitoring batch by batch: sequential updates, and a durable record of all batches.

Modules are loaded on first use, because recording a batch does not need the modules that compute
results. No module has the same name as a public function, because importing the module would hide
the function.
"""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
