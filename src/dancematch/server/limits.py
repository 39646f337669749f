"""The limits of the service that are fixed; those that a user may set are in `options.py`."""

# Requests
MAX_UPLOADS = 128  # requests with a body at a time
MAX_STREAMS = 128  # streams of job events at a time
MAX_CONNECTIONS = 1000
CONNECTION_BACKLOG = 1024
KEEP_ALIVE_SECONDS = 30
SHUTDOWN_SECONDS = 10  # for answers under way when the service is stopped
GZIP_FROM_BYTES = 2000
GZIP_LEVEL = 4  # of 9: the rest costs more time than it saves

# Parameters
MAX_NAME_LENGTH = 200
MIN_SECRET_LENGTH = 16
MAX_PAGE, DEFAULT_PAGE = 500, 50  # dances
MAX_CANDIDATES = 100  # per dancer of a search
MAX_MAP_DANCES = 2000
MAX_MATRIX_CELLS = 256  # per side

# Files
MAX_DANCERS = 32  # per file
MAX_UNPACKED_RATIO = 16  # an archive that unpacks to more times `sync_bytes` is read in a job
MAX_EXPLAINED_COST = 4e9  # words of the clip times the squared words of the dance: some seconds of work
STILLS_SECONDS = 120.0  # for cutting the pictures of a report

# Searches held for questions
HELD_SECONDS = 3600.0
MAX_HELD_SEARCHES = 500
MAX_HELD_BYTES = 512 << 20

# Jobs
MAX_ATTEMPTS = 3  # a job during which the server dies so often fails
FINISHED_JOB_DAYS = 7  # until a finished job is deleted
MAX_LISTED_JOBS = 100
CANCEL_SECONDS = 30.0  # to wait for a running job to end

# Retry-After, in seconds
RETRY_OPENING = 2
RETRY_UNAVAILABLE = 5
RETRY_QUEUE = 10
RETRY_REQUESTS = 1
