-- Times are microseconds UTC of the database's clock; 0 means none. A fetch may take a row when
-- fetch_at has come; 0 keeps it from being fetched. A leased row has the end of its lease there.
CREATE TABLE perdure.kind (
  id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name         text COLLATE "C" NOT NULL,
  code_version text COLLATE "C" NOT NULL,
  engine_level bigint NOT NULL,
  UNIQUE (name, code_version, engine_level)
);

CREATE TABLE perdure.task_kind (
  id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue    text COLLATE "C" NOT NULL,
  name     text COLLATE "C" NOT NULL,
  priority bigint NOT NULL,
  UNIQUE (queue, name, priority)
);

CREATE TABLE perdure.instance (
  key              uuid NOT NULL PRIMARY KEY,
  id               text COLLATE "C" NOT NULL,
  current          boolean NOT NULL DEFAULT true,
  kind             bigint NOT NULL,
  status           smallint NOT NULL,
  deleting         boolean NOT NULL DEFAULT false,
  execution        bigint NOT NULL,
  version          uuid NOT NULL,
  history_length   bigint NOT NULL DEFAULT 0,
  history_bytes    bigint NOT NULL DEFAULT 0,
  parent_key       uuid,
  parent_id        text COLLATE "C" NOT NULL DEFAULT '',
  parent_execution bigint NOT NULL DEFAULT 0,
  parent_event     bigint NOT NULL DEFAULT 0,
  parent_close     smallint NOT NULL DEFAULT 0,
  blocked          boolean NOT NULL DEFAULT false,
  blocked_count    bigint NOT NULL DEFAULT 0,
  blocked_reason   text COLLATE "C" NOT NULL DEFAULT '',
  blocked_message  bytea NOT NULL DEFAULT '',
  blocked_since    bigint NOT NULL DEFAULT 0,
  retry_at         bigint NOT NULL DEFAULT 0,
  request_id       text COLLATE "C" NOT NULL DEFAULT '',
  attributes       boolean NOT NULL DEFAULT false,
  created_at       bigint NOT NULL,
  updated_at       bigint NOT NULL,
  ended_at         bigint NOT NULL DEFAULT 0,
  ready_at         bigint NOT NULL DEFAULT 0,
  inbox_messages   bigint NOT NULL DEFAULT 0,
  inbox_bytes      bigint NOT NULL DEFAULT 0,
  next_message     bigint NOT NULL DEFAULT 1,
  deliveries       bigint NOT NULL DEFAULT 0,
  lease_token      uuid,
  lease_owner      text COLLATE "C" NOT NULL DEFAULT '',
  lease_until      bigint NOT NULL DEFAULT 0,
  sticky_owner     text COLLATE "C" NOT NULL DEFAULT '',
  sticky_until     bigint NOT NULL DEFAULT 0,
  not_before_at    bigint NOT NULL DEFAULT 0,
  fetch_at         bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 1);

CREATE UNIQUE INDEX instance_id ON perdure.instance (id) WHERE current;
CREATE INDEX instance_created ON perdure.instance (created_at DESC, key DESC);
CREATE INDEX instance_fetch ON perdure.instance (kind, fetch_at) WHERE fetch_at > 0;
CREATE INDEX instance_lease ON perdure.instance (lease_token) WHERE lease_token IS NOT NULL;
CREATE INDEX instance_ended ON perdure.instance (ended_at) WHERE ended_at > 0;
CREATE INDEX instance_parent ON perdure.instance (parent_key) WHERE parent_key IS NOT NULL;
CREATE INDEX instance_blocked ON perdure.instance (created_at) WHERE blocked;

-- What may be large and is seldom read, apart from the row that every commit rewrites.
CREATE TABLE perdure.outcome (
  key           uuid NOT NULL PRIMARY KEY,
  custom_status bytea,
  result        bytea
);

-- Executions that are over; the instance row describes the current one.
CREATE TABLE perdure.execution (
  key       uuid NOT NULL,
  execution bigint NOT NULL,
  status    smallint NOT NULL,
  length    bigint NOT NULL,
  PRIMARY KEY (key, execution)
);

-- One row per commit: events first_id .. first_id+events-1, each with its length before it.
CREATE TABLE perdure.history (
  key       uuid NOT NULL,
  execution bigint NOT NULL,
  first_id  bigint NOT NULL,
  events    bigint NOT NULL,
  data      bytea NOT NULL,
  PRIMARY KEY (key, execution, first_id)
);

CREATE TABLE perdure.inbox (
  key        uuid NOT NULL,
  id         bigint NOT NULL,
  visible_at bigint NOT NULL,
  kind       smallint NOT NULL,
  timer      boolean NOT NULL,
  execution  bigint NOT NULL,
  event_id   bigint NOT NULL,
  payload    bytea,
  PRIMARY KEY (key, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 1);

CREATE INDEX inbox_order ON perdure.inbox (key, visible_at, id);
CREATE UNIQUE INDEX inbox_timer ON perdure.inbox (key, execution, event_id) WHERE timer;

CREATE TABLE perdure.task (
  key           uuid NOT NULL,
  execution     bigint NOT NULL,
  event_id      bigint NOT NULL,
  kind          bigint NOT NULL,
  state         smallint NOT NULL,
  attempt       bigint NOT NULL DEFAULT 1,
  deliveries    bigint NOT NULL DEFAULT 0,
  token         uuid,
  owner         text COLLATE "C" NOT NULL DEFAULT '',
  lease_until   bigint NOT NULL DEFAULT 0,
  cancel        boolean NOT NULL DEFAULT false,
  scheduled_at  bigint NOT NULL,
  not_before_at bigint NOT NULL,
  deadline_at   bigint NOT NULL DEFAULT 0,
  fetch_at      bigint NOT NULL DEFAULT 0,
  expire_at     bigint NOT NULL DEFAULT 0,
  fairness_key  text COLLATE "C" NOT NULL DEFAULT '',
  session       text COLLATE "C" NOT NULL DEFAULT '',
  limit_key     text COLLATE "C" NOT NULL DEFAULT '',
  payload       bytea,
  details       bytea,
  failure       bytea,
  PRIMARY KEY (key, execution, event_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 500,
  autovacuum_vacuum_cost_delay = 1);

CREATE INDEX task_fetch ON perdure.task (kind, fetch_at) WHERE fetch_at > 0;
CREATE INDEX task_expire ON perdure.task (expire_at) WHERE expire_at > 0;

CREATE TABLE perdure.ask (
  ask_id      uuid NOT NULL PRIMARY KEY,
  key         uuid NOT NULL,
  asked_at    bigint NOT NULL,
  until       bigint NOT NULL,
  taken_until bigint NOT NULL DEFAULT 0,
  answered    boolean NOT NULL DEFAULT false,
  payload     bytea,
  answer      bytea
);

CREATE INDEX ask_open ON perdure.ask (asked_at) WHERE NOT answered;

CREATE TABLE perdure.dead_letter (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  task        boolean NOT NULL,
  key         uuid NOT NULL,
  instance_id text COLLATE "C" NOT NULL,
  execution   bigint NOT NULL,
  event_id    bigint NOT NULL,
  kind        smallint NOT NULL,
  timer       boolean NOT NULL,
  queue       text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  priority    bigint NOT NULL,
  reason      text COLLATE "C" NOT NULL,
  at          bigint NOT NULL,
  payload     bytea
);

CREATE INDEX dead_letter_key ON perdure.dead_letter (key);

CREATE TABLE perdure.lease (
  name  text COLLATE "C" NOT NULL PRIMARY KEY,
  owner text COLLATE "C" NOT NULL,
  token uuid NOT NULL,
  until bigint NOT NULL
);

CREATE TABLE perdure.record (
  namespace  text COLLATE "C" NOT NULL,
  key        text COLLATE "C" NOT NULL,
  version    bigint NOT NULL,
  updated_at bigint NOT NULL,
  value      bytea,
  PRIMARY KEY (namespace, key)
);

CREATE TABLE perdure.attribute (
  key    uuid NOT NULL,
  name   text COLLATE "C" NOT NULL,
  kind   smallint NOT NULL,
  text   text COLLATE "C" NOT NULL,
  number bigint NOT NULL,
  PRIMARY KEY (key, name)
);

CREATE INDEX attribute_value ON perdure.attribute (name, kind, text, number);

CREATE TABLE perdure.value (
  key   uuid NOT NULL,
  name  text COLLATE "C" NOT NULL,
  value bytea,
  PRIMARY KEY (key, name)
);
