from .bayes_factor import change as change
from .bayes_factor import log_bayes_factor as log_bayes_factor
from .challenge import Challenge as Challenge
from .discounting import accumulate as accumulate
from .discounting import with_room as with_room
from .encoding import forecast_table as forecast_table
from .hooks import Hook as Hook
from .hooks import notify as notify
from .hooks import to_command as to_command
from .hooks import to_log as to_log
from .hooks import to_url as to_url
from .ledger import Ledger as Ledger
from .monitor import Monitor as Monitor
from .predictive_check import surprise as surprise
from .rules import alarms as alarms
from .rules import prob_below as prob_below
from .rules import prob_worse as prob_worse
from .updating import history as history
from .updating import intervals as intervals
from .updating import update as update
from .upkeep import backup as backup
from .upkeep import restore as restore
from .upkeep import roll_up as roll_up
from .upkeep import verify as verify
from .web import dashboard as dashboard
from .web import serve as serve

__all__: list[str]
