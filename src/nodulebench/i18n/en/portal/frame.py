"""The frame of every page of the portal, and why something is refused, in English."""

TEXTS = {
    "portal.skip": "To the content",
    "portal.sections": "Sections",
    "portal.benchmarks": "Benchmarks",
    "portal.nav.own_entries": "Your entries",
    "portal.nav.dashboard": "Dashboard",
    "portal.nav.people": "People",
    "portal.nav.log": "Log",
    "portal.sign_in": "Sign in",
    "portal.sign_out": "Sign out",
    "portal.public_key": "Public key of this site",
    "portal.save": "Save",
    "portal.end": "End",
    "portal.make": "Make",
    "portal.show": "Show",
    "portal.refused.heading": "That did not work",
    "portal.refused.not_found": "There is nothing here, or nothing that you may see.",
    "portal.refused.not_allowed": "Your roles do not allow this. Ask an organiser.",
    "portal.refused.sign_in_first": "Sign in first.",
    "portal.refused.token_needed": "Programs need a token; make one on the page of your account.",
    "portal.refused.form_old": (
        "The form is too old or came from elsewhere. Load the page again and send it once more."
    ),
    "portal.refused.field_long": "A field holds more than is taken.",
    "portal.refused.field_form": "A field does not have the right form.",
    "portal.refused.away": (
        "The site cannot reach its database. Try again in a minute, and look at your entries "
        "before you send anything again."
    ),
    "portal.refused.busy": "Too many files are being looked through. Try again in a minute.",
    "portal.refused.disk_full": "The site has no room for this file. Tell an organiser.",
    "portal.refused.kept_full": (
        "Your entries together hold more than this site keeps. Ask an organiser."
    ),
    "portal.refused.too_large": "The file is larger than this site takes.",
    "portal.refused.not_possible": "This cannot be done with what was given.",
    "portal.refused.link_ended": (
        "This link was used, has ended, or was never made. Ask an organiser for a new one."
    ),
    "portal.refused.login_taken": "Somebody has that login already. Choose another.",
    "portal.refused.login_form": (
        "A login has 3 to 64 small letters, digits and . _ @ + -, and begins with a letter or "
        "digit."
    ),
    "portal.refused.name_form": "A name has 1 to 80 characters.",
    "portal.refused.title_form": "A title has 1 to 120 characters.",
    "portal.refused.password_short": "A password has at least 12 characters.",
    "portal.refused.password_long": "A password has at most 256 characters.",
    "portal.refused.password_easy": (
        "This password is too easy to guess: it repeats itself, or holds your login."
    ),
    "portal.refused.passwords_differ": "The two passwords differ.",
    "portal.refused.oidc_wrong": "The answer of the provider does not fit. Begin again.",
    "portal.refused.oidc_away": "The provider of accounts does not answer. Try again later.",
    "portal.refused.oidc_unknown": (
        "You have no account here. Ask an organiser for a link, then connect the account."
    ),
    "portal.refused.oidc_taken": "That is another account already.",
    "portal.refused.password_first": (
        "Without a password nobody could sign in to this account. Ask an organiser for a link."
    ),
    "portal.refused.password_wrong": "The password does not fit.",
    "portal.refused.code_wrong": "The code does not fit. Is the clock of the device right?",
    "portal.refused.sign_in_wrong": "Login, password or code does not fit.",
    "portal.refused.too_many_attempts": "Too many attempts. Wait a quarter of an hour.",
    "portal.refused.last_organiser": "This is the only organiser; make another one first.",
    "portal.refused.roles_missing": "Choose at least one role.",
    "portal.refused.benchmark_before": "This benchmark is not open yet.",
    "portal.refused.benchmark_closed": "This benchmark is closed.",
    "portal.refused.track_closed": "This track takes nothing now.",
    "portal.refused.training_unsaid": "Say whether it was trained on this test set.",
    "portal.refused.training_unfolded": (
        "Who trains on this test set has to cross-validate. Send marks made fold by fold, with the "
        "table of folds."
    ),
    "portal.refused.folds_missing": "Send the table of the folds that you cross-validated by.",
    "portal.refused.sealed_tells_no_cases": (
        "A sealed test set tells nobody which cases it has: no candidates, no folds."
    ),
    "portal.refused.file_not_ready": "The file has no digest yet, or was changed since.",
    "portal.refused.file_not_plain": (
        "Only plain files are released: there is a link, or something else that is no file."
    ),
    "portal.refused.file_sealed": "It is of a sealed test set, of which nothing is given out.",
    "portal.refused.quota_spent": "Your entries for this benchmark are used up for now.",
    "portal.refused.not_certified": "There is no result that counts, and so no certificate.",
    "portal.refused.not_comparable": (
        "These two cannot be compared: they need results of one benchmark and version that are "
        "kept here."
    ),
    "portal.refused.file_missing": "Choose a file.",
    "portal.refused.job_ended": "This job has ended.",
    "portal.refused.job_open": "This job waits or runs.",
}
