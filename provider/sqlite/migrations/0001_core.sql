-- Times ending in _at are microseconds of the wall clock; *_until are microseconds of
-- the elapsed clock, which no time step moves. fetch_at is null unless a fetch may take the row.
CREATE TABLE perdure_meta (
  name  TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE perdure_kind (
  id           INTEGER PRIMARY KEY,
  name         TEXT NOT NULL,
  code_version TEXT NOT NULL,
  engine_level INTEGER NOT NULL,
  UNIQUE (name, code_version, engine_level)
) STRICT;

CREATE TABLE perdure_task_kind (
  id       INTEGER PRIMARY KEY,
  queue    TEXT NOT NULL,
  name     TEXT NOT NULL,
  priority INTEGER NOT NULL,
  UNIQUE (queue, name, priority)
) STRICT;

CREATE TABLE perdure_instance (
  key              BLOB NOT NULL PRIMARY KEY,
  id               TEXT NOT NULL,
  current          INTEGER NOT NULL DEFAULT 1,
  kind             INTEGER NOT NULL,
  status           INTEGER NOT NULL,
  deleting         INTEGER NOT NULL DEFAULT 0,
  execution        INTEGER NOT NULL,
  version          BLOB NOT NULL,
  history_length   INTEGER NOT NULL DEFAULT 0,
  history_bytes    INTEGER NOT NULL DEFAULT 0,
  parent_key       BLOB,
  parent_id        TEXT,
  parent_execution INTEGER,
  parent_event     INTEGER,
  parent_close     INTEGER,
  blocked          INTEGER NOT NULL DEFAULT 0,
  blocked_count    INTEGER NOT NULL DEFAULT 0,
  blocked_reason   TEXT,
  blocked_message  TEXT,
  blocked_since    INTEGER,
  retry_at         INTEGER NOT NULL DEFAULT 0,
  request_id       TEXT NOT NULL DEFAULT '',
  attributes       INTEGER NOT NULL DEFAULT 0,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  ended_at         INTEGER NOT NULL DEFAULT 0,
  ready_at         INTEGER NOT NULL DEFAULT 0,
  inbox_messages   INTEGER NOT NULL DEFAULT 0,
  inbox_bytes      INTEGER NOT NULL DEFAULT 0,
  next_message     INTEGER NOT NULL DEFAULT 1,
  deliveries       INTEGER NOT NULL DEFAULT 0,
  lease_token      BLOB,
  lease_owner      TEXT,
  lease_until      INTEGER NOT NULL DEFAULT 0,
  sticky_owner     TEXT,
  sticky_until     INTEGER NOT NULL DEFAULT 0,
  not_before_at    INTEGER NOT NULL DEFAULT 0,
  fetch_at         INTEGER
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX perdure_instance_id ON perdure_instance (id) WHERE current = 1;
CREATE INDEX perdure_instance_created ON perdure_instance (created_at);
CREATE INDEX perdure_instance_fetch ON perdure_instance (kind, fetch_at) WHERE fetch_at IS NOT NULL;
CREATE INDEX perdure_instance_lease ON perdure_instance (lease_until) WHERE lease_until > 0;
CREATE INDEX perdure_instance_ended ON perdure_instance (ended_at) WHERE ended_at > 0;
CREATE INDEX perdure_instance_parent ON perdure_instance (parent_key) WHERE parent_key IS NOT NULL;
CREATE INDEX perdure_instance_blocked ON perdure_instance (created_at) WHERE blocked = 1;

-- What may be large and is seldom read, apart from the row that every commit rewrites.
CREATE TABLE perdure_outcome (
  key           BLOB NOT NULL PRIMARY KEY,
  custom_status BLOB,
  result        BLOB
) STRICT, WITHOUT ROWID;

-- Executions that are over; the instance row describes the current one.
CREATE TABLE perdure_execution (
  key       BLOB NOT NULL,
  execution INTEGER NOT NULL,
  status    INTEGER NOT NULL,
  length    INTEGER NOT NULL,
  PRIMARY KEY (key, execution)
) STRICT, WITHOUT ROWID;

-- One row per commit: events first_id .. first_id+events-1, each with its length before it.
CREATE TABLE perdure_history (
  key       BLOB NOT NULL,
  execution INTEGER NOT NULL,
  first_id  INTEGER NOT NULL,
  events    INTEGER NOT NULL,
  data      BLOB NOT NULL,
  PRIMARY KEY (key, execution, first_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE perdure_inbox (
  key        BLOB NOT NULL,
  visible_at INTEGER NOT NULL,
  id         INTEGER NOT NULL,
  kind       INTEGER NOT NULL,
  timer      INTEGER NOT NULL,
  execution  INTEGER NOT NULL,
  event_id   INTEGER NOT NULL,
  payload    BLOB,
  PRIMARY KEY (key, visible_at, id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX perdure_inbox_timer ON perdure_inbox (key, execution, event_id) WHERE timer = 1;

CREATE TABLE perdure_task (
  key           BLOB NOT NULL,
  execution     INTEGER NOT NULL,
  event_id      INTEGER NOT NULL,
  kind          INTEGER NOT NULL,
  state         INTEGER NOT NULL,
  attempt       INTEGER NOT NULL DEFAULT 1,
  deliveries    INTEGER NOT NULL DEFAULT 0,
  token         BLOB,
  owner         TEXT,
  lease_until   INTEGER NOT NULL DEFAULT 0,
  cancel        INTEGER NOT NULL DEFAULT 0,
  scheduled_at  INTEGER NOT NULL,
  not_before_at INTEGER NOT NULL,
  deadline_at   INTEGER NOT NULL DEFAULT 0,
  fetch_at      INTEGER,
  expire_at     INTEGER,
  fairness_key  TEXT,
  session       TEXT,
  limit_key     TEXT,
  payload       BLOB,
  details       BLOB,
  failure       BLOB,
  PRIMARY KEY (key, execution, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX perdure_task_fetch ON perdure_task (kind, fetch_at) WHERE fetch_at IS NOT NULL;
CREATE INDEX perdure_task_lease ON perdure_task (lease_until) WHERE lease_until > 0;
CREATE INDEX perdure_task_expire ON perdure_task (expire_at) WHERE expire_at IS NOT NULL;

CREATE TABLE perdure_ask (
  ask_id      BLOB NOT NULL PRIMARY KEY,
  key         BLOB NOT NULL,
  asked_at    INTEGER NOT NULL,
  until       INTEGER NOT NULL,
  taken_until INTEGER NOT NULL DEFAULT 0,
  answered    INTEGER NOT NULL DEFAULT 0,
  payload     BLOB,
  answer      BLOB
) STRICT, WITHOUT ROWID;

CREATE TABLE perdure_dead_letter (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  task        INTEGER NOT NULL,
  key         BLOB NOT NULL,
  instance_id TEXT NOT NULL,
  execution   INTEGER NOT NULL,
  event_id    INTEGER NOT NULL,
  kind        INTEGER NOT NULL,
  timer       INTEGER NOT NULL,
  queue       TEXT NOT NULL,
  name        TEXT NOT NULL,
  priority    INTEGER NOT NULL,
  reason      TEXT NOT NULL,
  at          INTEGER NOT NULL,
  payload     BLOB
) STRICT;

CREATE INDEX perdure_dead_letter_key ON perdure_dead_letter (key);

CREATE TABLE perdure_lease (
  name       TEXT NOT NULL PRIMARY KEY,
  owner      TEXT NOT NULL,
  token      BLOB NOT NULL,
  until      INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE perdure_record (
  namespace  TEXT NOT NULL,
  key        TEXT NOT NULL,
  version    INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  value      BLOB,
  PRIMARY KEY (namespace, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE perdure_attribute (
  key    BLOB NOT NULL,
  name   TEXT NOT NULL,
  kind   INTEGER NOT NULL,
  text   TEXT NOT NULL,
  number INTEGER NOT NULL,
  PRIMARY KEY (key, name)
) STRICT, WITHOUT ROWID;

CREATE INDEX perdure_attribute_value ON perdure_attribute (name, kind, text, number);

CREATE TABLE perdure_value (
  key   BLOB NOT NULL,
  name  TEXT NOT NULL,
  value BLOB,
  PRIMARY KEY (key, name)
) STRICT, WITHOUT ROWID;
