from bayescm.online.acting.challenging import Challenge as Challenge
from bayescm.online.acting.hooks import Hook as Hook
from bayescm.online.acting.hooks import to_command as to_command
from bayescm.online.acting.hooks import to_log as to_log
from bayescm.online.acting.hooks import to_url as to_url
from bayescm.online.acting.notifying import notify as notify
from bayescm.online.bayes_factor import change as change
from bayescm.online.bayes_factor import log_bayes_factor as log_bayes_factor
from bayescm.online.monitor import Monitor as Monitor
from bayescm.online.predictive_check import surprise as surprise
from bayescm.online.probabilities import prob_below as prob_below
from bayescm.online.probabilities import prob_worse as prob_worse
from bayescm.online.rules import alarms as alarms
from bayescm.online.series import accumulate as accumulate
from bayescm.online.series import history as history
from bayescm.online.series import with_room as with_room
from bayescm.online.store.copies import backup as backup
from bayescm.online.store.copies import restore as restore
from bayescm.online.store.copies import verify as verify
from bayescm.online.store.ledger import Ledger as Ledger
from bayescm.online.store.rolling import roll_up as roll_up
from bayescm.online.updating import intervals as intervals
from bayescm.online.updating import update as update
from bayescm.online.web.serving import dashboard as dashboard
from bayescm.online.web.serving import serve as serve

__all__: list[str]
