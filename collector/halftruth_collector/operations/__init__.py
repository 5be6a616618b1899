"""Actions of operators, each declared once; calls, commands, forms and tests follow from it.

Every module of this package is imported, so an action can be added by another file; see
:mod:`.base`.
"""

from importlib import import_module
from pkgutil import iter_modules

from halftruth_shared.protocol.base import Message, Request, prepare

from .base import ACTIONS, SUBJECTS, Action, Call, Command, Done, Form, Offer, Table, action
from .invitations import create_invitations, revoke_invitations
from .keys import create_sealing_key, retire_sealing_key, revoke_key
from .surveys import (
    close_survey,
    delete_survey,
    finish_relayed,
    publish_survey,
    reopen_survey,
    set_listing,
)
from .tables import (
    back_up,
    check_backup,
    check_days,
    compact,
    count_rows,
    export_reports,
    import_reports,
    purge,
    require_purge,
    restore,
)
from .terms import Changes, set_terms
from .tokens import create_token, revoke_token
from .trials import clear_test_reports, try_survey

for _module in iter_modules(__path__, f"{__name__}."):
    import_module(_module.name)

prepare(Message)
prepare(Request)

__all__ = [
    "ACTIONS",
    "SUBJECTS",
    "Action",
    "Call",
    "Changes",
    "Command",
    "Done",
    "Form",
    "Offer",
    "Table",
    "action",
    "back_up",
    "check_backup",
    "check_days",
    "clear_test_reports",
    "close_survey",
    "compact",
    "count_rows",
    "create_invitations",
    "create_sealing_key",
    "create_token",
    "delete_survey",
    "export_reports",
    "finish_relayed",
    "import_reports",
    "publish_survey",
    "purge",
    "reopen_survey",
    "require_purge",
    "restore",
    "retire_sealing_key",
    "revoke_invitations",
    "revoke_key",
    "revoke_token",
    "set_listing",
    "set_terms",
    "try_survey",
]
