"""The limits of the service that are fixed; those that a user may set are in `options.py`."""

# Connections
MAX_CONNECTIONS = 1000
MAX_REFUSED_CONNECTIONS = 100  # beyond these, that are told why before they are closed
MAX_OPEN_FILES = 4096  # connections, uploads, the catalogue; asked of the operating system at the start
CONNECTION_BACKLOG = 1024
MAX_HEADER_BYTES = 32 << 10
MAX_TINY_CHUNKS, MIN_CHUNK_BYTES = 256, 64  # of a body: after so many chunks, so many bytes each on average
HEADER_SECONDS = 10.0  # from the first byte of a request, or the connection, until its headers are there
KEEP_ALIVE_SECONDS = 30
LINGER_SECONDS = 2.0  # for a sender to read why the rest of its body is not wanted
UNREAD_ANSWER_SECONDS = 60.0  # that an answer waits for a client that does not read it

# Requests
MAX_UPLOADS, MAX_UPLOADS_PER_ADDRESS = 128, 64  # requests with a body at a time
MAX_STREAMS, MAX_STREAMS_PER_ADDRESS = 128, 64  # streams of job events at a time
UPLOAD_PACE_BYTES, UPLOAD_PACE_SECONDS = 64 << 10, 20.0  # every so many bytes of an upload in so many seconds
SHUTDOWN_SECONDS = 10  # for answers under way when the service is stopped
GZIP_FROM_BYTES = 2000
GZIP_LEVEL = 4  # of 9: the rest costs more time than it saves

# Parameters
MIN_SECRET_LENGTH = 16
MAX_PAGE, DEFAULT_PAGE = 500, 50  # dances
MAX_REVIEWS = 1000  # on one page
MAX_CANDIDATES = 100  # per dancer of a search
MAX_MAP_DANCES = 2000
MAX_MATRIX_CELLS = 256  # per side

# Bodies that are no files
MAX_CHANGE_BYTES = 1 << 20  # of one dance or recording
MAX_EDITS_BYTES = 10_000_000  # of many, or of a table: the most that a table may have

# Files
MAX_DANCERS = 32  # per file
SMALL_UPLOAD_BYTES = 1 << 20  # larger files have readers of their own
QUICK_READ_SECONDS = 10.0  # for a file whose sender waits
QUICK_READ_BYTES = 640 << 20  # address space of the process that reads it, of which it takes 110 MB empty
QUICK_WRITTEN_BYTES = 256 << 20
MAX_QUICK_DANCER_SECONDS = 180.0  # of all dancers together; a search takes about 8 ms for each
MAX_KEPT_WORKER_BYTES = 256 << 20  # a worker that has had more is not used again
MAX_EXPLAINED_COST = 4e9  # words of the clip times the squared words of the dance: some seconds of work
MAX_LINEAGE_SEARCHES = 200  # windows of a dance times dancers, each of which is a search
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
MAX_PART_DANCER_SECONDS = 180.0  # of all dancers in what was read of a clip, for it to be searched for

# Scans
SCAN_UPLOAD_SECONDS = 7200.0  # for receiving a long video
SCAN_PACE = 3.0  # seconds that the analysis of a second of it may take
MAX_SCAN_UPLOADS, MAX_SCAN_UPLOADS_PER_ADDRESS = 4, 2  # long videos that come in at a time
MAX_OPEN_SCANS = 8  # that wait or run
KEEP_RESULT_SECONDS = 10.0  # between writings of what a running scan has found

# Cameras
MAX_CAMERAS, MAX_CAMERAS_PER_ADDRESS = 2, 1  # at a time
MAX_CAMERA_SECONDS = 3600.0
MAX_PICTURES_BYTES = 4 << 20  # of one request
MAX_HELD_PICTURES_BYTES = 16 << 20  # of one camera, that are not yet read
CAMERA_SILENCE_SECONDS = 10.0  # without pictures, after which a camera is taken for gone
CAMERA_STEP_SECONDS = 0.5  # of pictures, after which what is danced is looked at again

# Retry-After, in seconds
RETRY_OPENING = 2
RETRY_UNAVAILABLE = 5
RETRY_QUEUE = 10
RETRY_REQUESTS = 1
