CREATE SCHEMA perdure_recorded;
CREATE TABLE perdure_recorded.ask (
    ask_id uuid NOT NULL,
    key uuid NOT NULL,
    asked_at bigint NOT NULL,
    until bigint NOT NULL,
    taken_until bigint DEFAULT 0 NOT NULL,
    answered boolean DEFAULT false NOT NULL,
    payload bytea,
    answer bytea
);
CREATE TABLE perdure_recorded.attribute (
    key uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    kind smallint NOT NULL,
    text text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL
);
CREATE TABLE perdure_recorded.dead_letter (
    id bigint NOT NULL,
    task boolean NOT NULL,
    key uuid NOT NULL,
    instance_id text NOT NULL COLLATE pg_catalog."C",
    execution bigint NOT NULL,
    event_id bigint NOT NULL,
    kind smallint NOT NULL,
    timer boolean NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    priority bigint NOT NULL,
    reason text NOT NULL COLLATE pg_catalog."C",
    at bigint NOT NULL,
    payload bytea
);
ALTER TABLE perdure_recorded.dead_letter ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME perdure_recorded.dead_letter_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE perdure_recorded.execution (
    key uuid NOT NULL,
    execution bigint NOT NULL,
    status smallint NOT NULL,
    length bigint NOT NULL
);
CREATE TABLE perdure_recorded.history (
    key uuid NOT NULL,
    execution bigint NOT NULL,
    first_id bigint NOT NULL,
    events bigint NOT NULL,
    data bytea NOT NULL
);
CREATE TABLE perdure_recorded.inbox (
    key uuid NOT NULL,
    id bigint NOT NULL,
    visible_at bigint NOT NULL,
    kind smallint NOT NULL,
    timer boolean NOT NULL,
    execution bigint NOT NULL,
    event_id bigint NOT NULL,
    payload bytea
)
WITH (autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_vacuum_cost_delay='1');
CREATE TABLE perdure_recorded.instance (
    key uuid NOT NULL,
    id text NOT NULL COLLATE pg_catalog."C",
    current boolean DEFAULT true NOT NULL,
    kind bigint NOT NULL,
    status smallint NOT NULL,
    deleting boolean DEFAULT false NOT NULL,
    execution bigint NOT NULL,
    version uuid NOT NULL,
    history_length bigint DEFAULT 0 NOT NULL,
    history_bytes bigint DEFAULT 0 NOT NULL,
    parent_key uuid,
    parent_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    parent_execution bigint DEFAULT 0 NOT NULL,
    parent_event bigint DEFAULT 0 NOT NULL,
    parent_close smallint DEFAULT 0 NOT NULL,
    blocked boolean DEFAULT false NOT NULL,
    blocked_count bigint DEFAULT 0 NOT NULL,
    blocked_reason text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    blocked_message bytea DEFAULT '\x'::bytea NOT NULL,
    blocked_since bigint DEFAULT 0 NOT NULL,
    retry_at bigint DEFAULT 0 NOT NULL,
    request_id text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    attributes boolean DEFAULT false NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    ended_at bigint DEFAULT 0 NOT NULL,
    ready_at bigint DEFAULT 0 NOT NULL,
    inbox_messages bigint DEFAULT 0 NOT NULL,
    inbox_bytes bigint DEFAULT 0 NOT NULL,
    next_message bigint DEFAULT 1 NOT NULL,
    deliveries bigint DEFAULT 0 NOT NULL,
    lease_token uuid,
    lease_owner text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    lease_until bigint DEFAULT 0 NOT NULL,
    sticky_owner text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    sticky_until bigint DEFAULT 0 NOT NULL,
    not_before_at bigint DEFAULT 0 NOT NULL,
    fetch_at bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='70', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_vacuum_cost_delay='1');
CREATE TABLE perdure_recorded.kind (
    id bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    code_version text NOT NULL COLLATE pg_catalog."C",
    engine_level bigint NOT NULL
);
ALTER TABLE perdure_recorded.kind ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME perdure_recorded.kind_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE perdure_recorded.lease (
    name text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    token uuid NOT NULL,
    until bigint NOT NULL
);
CREATE TABLE perdure_recorded.migration (
    version bigint NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    oldest bigint NOT NULL,
    applied_at bigint NOT NULL
);
CREATE TABLE perdure_recorded.outcome (
    key uuid NOT NULL,
    custom_status bytea,
    result bytea
);
CREATE TABLE perdure_recorded.process (
    id text NOT NULL COLLATE pg_catalog."C",
    owners text[] NOT NULL,
    renewed_at bigint NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_threshold='500');
CREATE TABLE perdure_recorded.record (
    namespace text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    updated_at bigint NOT NULL,
    value bytea
);
CREATE TABLE perdure_recorded.session (
    id text NOT NULL COLLATE pg_catalog."C",
    owner text NOT NULL COLLATE pg_catalog."C",
    lease_until bigint NOT NULL,
    idle_until bigint NOT NULL,
    idle bigint NOT NULL
);
CREATE TABLE perdure_recorded.task (
    key uuid NOT NULL,
    execution bigint NOT NULL,
    event_id bigint NOT NULL,
    kind bigint NOT NULL,
    state smallint NOT NULL,
    attempt bigint DEFAULT 1 NOT NULL,
    deliveries bigint DEFAULT 0 NOT NULL,
    token uuid,
    owner text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    lease_until bigint DEFAULT 0 NOT NULL,
    cancel boolean DEFAULT false NOT NULL,
    scheduled_at bigint NOT NULL,
    not_before_at bigint NOT NULL,
    deadline_at bigint DEFAULT 0 NOT NULL,
    fetch_at bigint DEFAULT 0 NOT NULL,
    expire_at bigint DEFAULT 0 NOT NULL,
    fairness_key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    session text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    limit_key text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    payload bytea,
    details bytea,
    failure bytea,
    start_by_at bigint DEFAULT 0 NOT NULL,
    begun boolean DEFAULT false NOT NULL,
    rank_at bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_threshold='500', autovacuum_vacuum_cost_delay='1');
CREATE TABLE perdure_recorded.task_kind (
    id bigint NOT NULL,
    queue text NOT NULL COLLATE pg_catalog."C",
    name text NOT NULL COLLATE pg_catalog."C",
    priority bigint NOT NULL
);
ALTER TABLE perdure_recorded.task_kind ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME perdure_recorded.task_kind_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE perdure_recorded.value (
    key uuid NOT NULL,
    name text NOT NULL COLLATE pg_catalog."C",
    value bytea
);
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe46-73e4-88b3-396f6e5d37f0', 1, 1, 2, '\x4d01010292ca8be79fb3b006050553746570730901310b10028080800204a08d0606060880808032132433626133333561332d326432322d343736352d613337612d3935666432633535643537651501200505717569636b070764656661756c74090131');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe46-73e4-88b3-396f6e5d37f0', 1, 3, 2, '\x12010302e0928de79fb3b006040407013208021501200505717569636b070764656661756c74090132');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe46-73e4-88b3-396f6e5d37f0', 1, 5, 2, '\x12010302fec38de79fb3b006040807013308021501200505717569636b070764656661756c74090133');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe46-73e4-88b3-396f6e5d37f0', 1, 7, 2, '\x12010302e2fa8de79fb3b006040c07013408021501200505717569636b070764656661756c74090134');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe46-73e4-88b3-396f6e5d37f0', 1, 9, 2, '\x12010302aa868ee79fb3b006041007013508021501200505717569636b070764656661756c74090135');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe46-73e4-88b3-396f6e5d37f0', 1, 11, 2, '\x120103028c918ee79fb3b0060414070136080213012005054c6174657207056c61746572090136');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 1, 41, '\x4d010102f2928fe79fb3b006050457696465090232300b10028080800204a08d0606060880808032132434653963646536632d343337632d343037322d386465612d3139346165653230393566611501200505717569636b070764656661756c7409013013012005054c6174657207056c617465720901301501200505717569636b070764656661756c7409013113012005054c6174657207056c617465720901311501200505717569636b070764656661756c7409013213012005054c6174657207056c617465720901321501200505717569636b070764656661756c7409013313012005054c6174657207056c617465720901331501200505717569636b070764656661756c7409013413012005054c6174657207056c617465720901341501200505717569636b070764656661756c7409013513012005054c6174657207056c617465720901351501200505717569636b070764656661756c7409013613012005054c6174657207056c617465720901361501200505717569636b070764656661756c7409013713012005054c6174657207056c617465720901371501200505717569636b070764656661756c7409013813012005054c6174657207056c617465720901381501200505717569636b070764656661756c7409013913012005054c6174657207056c617465720901391601200505717569636b070764656661756c740902313014012005054c6174657207056c61746572090231301601200505717569636b070764656661756c740902313114012005054c6174657207056c61746572090231311601200505717569636b070764656661756c740902313214012005054c6174657207056c61746572090231321601200505717569636b070764656661756c740902313314012005054c6174657207056c61746572090231331601200505717569636b070764656661756c740902313414012005054c6174657207056c61746572090231341601200505717569636b070764656661756c740902313514012005054c6174657207056c61746572090231351601200505717569636b070764656661756c740902313614012005054c6174657207056c61746572090231361601200505717569636b070764656661756c740902313714012005054c6174657207056c61746572090231371601200505717569636b070764656661756c740902313814012005054c6174657207056c61746572090231381601200505717569636b070764656661756c740902313914012005054c6174657207056c6174657209023139');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 42, 12, '\x12010302e4b58fe79fb3b0060404070131080212010302e4b58fe79fb3b006040c070133080212010302e4b58fe79fb3b0060408070132080212010302e4b58fe79fb3b0060410070134080212010302e4b58fe79fb3b0060414070135080212010302e4b58fe79fb3b0060424070139080212010302e4b58fe79fb3b0060418070136080212010302e4b58fe79fb3b006041c070137080212010302e4b58fe79fb3b0060420070138080213010302e4b58fe79fb3b006042c07023131080213010302e4b58fe79fb3b006042807023130080213010302e4b58fe79fb3b0060430070231320802');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 54, 8, '\x13010302e8be8fe79fb3b006044007023136080213010302e8be8fe79fb3b006043407023133080213010302e8be8fe79fb3b006043807023134080213010302e8be8fe79fb3b006043c07023135080213010302e8be8fe79fb3b006044807023138080213010302e8be8fe79fb3b006044407023137080213010302e8be8fe79fb3b006044c07023139080213010302e8be8fe79fb3b0060450070232300802');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe74-7ea1-85ba-682ca5a46e13', 1, 1, 2, '\x4a0101028e9790e79fb3b006050554616c6c790b10028080800204a08d0606060880808032132462353862343536652d336264392d346436392d616363662d313366356436666432616438390106028e9790e79fb3b0060503616464070131092436663764366134652d623931662d343934632d393138322d373532356431666336336666');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe74-7ea1-85ba-682ca5a46e13', 1, 3, 2, '\x39010602beb090e79fb3b0060503616464070132092464616338643038322d643864342d346530342d616537622d37306438653332396637316339010602beb090e79fb3b0060503616464070133092430626561393830362d656536352d343737642d396435302d333762613465633839333438');
INSERT INTO perdure_recorded.history VALUES ('01a1ff3a-fe7f-7d97-be02-7604517037b5', 1, 1, 2, '\x49010102c8c991e79fb3b00605044e6170730b10028080800204a08d0606060880808032132438653036653435642d356361372d346266642d626438312d39663133363030343662393710012204c8a3d6f09fb3b0060680dac409');
INSERT INTO perdure_recorded.inbox VALUES ('01a1ff3a-fe7f-7d97-be02-7604517037b5', 2, 1795283428755684, 5, true, 1, 2, '\x01050404');
INSERT INTO perdure_recorded.instance VALUES ('01a1ff3a-fe46-73e4-88b3-396f6e5d37f0', 'steps', true, 1, 1, false, 1, 'bfd74c1b-a1e4-450a-a216-9528ab2a0aff', 12, 291, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '3ba335a3-2d22-4765-a37a-95fd2c55d57e', false, 1795283418704784, 1795283418730453, 0, 0, 0, 0, 2, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 'wide', true, 2, 1, false, 1, 'ed5ad905-4bdd-4b9a-bf38-ac66ef7d37a1', 61, 1268, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '4e9cde6c-437c-4072-8dea-194aee2095fa', false, 1795283418734368, 1795283418738707, 0, 0, 0, 0, 2, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1ff3a-fe74-7ea1-85ba-682ca5a46e13', 'tally', true, 3, 1, false, 1, '5c34dfb3-bc23-48f3-a121-8863f3ce3478', 4, 245, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, 'b58b456e-3bd9-4d69-accf-13f5d6fd2ad8', false, 1795283418742880, 1795283418745986, 0, 0, 0, 0, 5, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1ff3a-fe7f-7d97-be02-7604517037b5', 'naps', true, 4, 1, false, 1, '041abf6a-2346-4c09-aed1-5777c1f5991f', 2, 89, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '8e06e45d-5ca7-4bfd-bd81-9f1360046b97', false, 1795283418754677, 1795283418755805, 0, 1795283428755684, 1, 4, 3, 0, NULL, '', 0, '', 0, 0, 1795283428755684);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (1, 'Steps', '', 4);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (2, 'Wide', '', 4);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (3, 'Tally', '', 4);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (4, 'Naps', '', 4);
INSERT INTO perdure_recorded.migration VALUES (1, 'core', 1, 1795283418681356);
INSERT INTO perdure_recorded.migration VALUES (2, 'ranks_and_sessions', 1, 1795283418685036);
INSERT INTO perdure_recorded.migration VALUES (3, 'processes', 1, 1795283418686671);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe46-73e4-88b3-396f6e5d37f0', 1, 12, 2, 1, 1, 0, NULL, '', 0, false, 1795283418730453, 1795283418730453, 0, 1795283418730453, 0, '', '', '', '\x012005054c6174657207056c61746572090136', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 3, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090130', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 5, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090131', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 7, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090132', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 9, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090133', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 11, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090134', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 13, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090135', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 15, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090136', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 17, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090137', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 19, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090138', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 21, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c61746572090139', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 23, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023130', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 25, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023131', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 27, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023132', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 29, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023133', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 31, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023134', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 33, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023135', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 35, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023136', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 37, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023137', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 39, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023138', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task VALUES ('01a1ff3a-fe6c-734e-965f-fdbf0a53565b', 1, 41, 2, 1, 1, 0, NULL, '', 0, false, 1795283418736007, 1795283418736007, 0, 1795283418736007, 0, '', '', '', '\x012005054c6174657207056c6174657209023139', NULL, NULL, 0, false, 0);
INSERT INTO perdure_recorded.task_kind OVERRIDING SYSTEM VALUE VALUES (1, 'default', 'quick', 3);
INSERT INTO perdure_recorded.task_kind OVERRIDING SYSTEM VALUE VALUES (2, 'later', 'Later', 3);
SELECT pg_catalog.setval('perdure_recorded.dead_letter_id_seq', 1, false);
SELECT pg_catalog.setval('perdure_recorded.kind_id_seq', 4, true);
SELECT pg_catalog.setval('perdure_recorded.task_kind_id_seq', 2, true);
ALTER TABLE ONLY perdure_recorded.ask
    ADD CONSTRAINT ask_pkey PRIMARY KEY (ask_id);
ALTER TABLE ONLY perdure_recorded.attribute
    ADD CONSTRAINT attribute_pkey PRIMARY KEY (key, name);
ALTER TABLE ONLY perdure_recorded.dead_letter
    ADD CONSTRAINT dead_letter_pkey PRIMARY KEY (id);
ALTER TABLE ONLY perdure_recorded.execution
    ADD CONSTRAINT execution_pkey PRIMARY KEY (key, execution);
ALTER TABLE ONLY perdure_recorded.history
    ADD CONSTRAINT history_pkey PRIMARY KEY (key, execution, first_id);
ALTER TABLE ONLY perdure_recorded.inbox
    ADD CONSTRAINT inbox_pkey PRIMARY KEY (key, id);
ALTER TABLE ONLY perdure_recorded.instance
    ADD CONSTRAINT instance_pkey PRIMARY KEY (key);
ALTER TABLE ONLY perdure_recorded.kind
    ADD CONSTRAINT kind_name_code_version_engine_level_key UNIQUE (name, code_version, engine_level);
ALTER TABLE ONLY perdure_recorded.kind
    ADD CONSTRAINT kind_pkey PRIMARY KEY (id);
ALTER TABLE ONLY perdure_recorded.lease
    ADD CONSTRAINT lease_pkey PRIMARY KEY (name);
ALTER TABLE ONLY perdure_recorded.migration
    ADD CONSTRAINT migration_pkey PRIMARY KEY (version);
ALTER TABLE ONLY perdure_recorded.outcome
    ADD CONSTRAINT outcome_pkey PRIMARY KEY (key);
ALTER TABLE ONLY perdure_recorded.process
    ADD CONSTRAINT process_pkey PRIMARY KEY (id);
ALTER TABLE ONLY perdure_recorded.record
    ADD CONSTRAINT record_pkey PRIMARY KEY (namespace, key);
ALTER TABLE ONLY perdure_recorded.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (id);
ALTER TABLE ONLY perdure_recorded.task_kind
    ADD CONSTRAINT task_kind_pkey PRIMARY KEY (id);
ALTER TABLE ONLY perdure_recorded.task_kind
    ADD CONSTRAINT task_kind_queue_name_priority_key UNIQUE (queue, name, priority);
ALTER TABLE ONLY perdure_recorded.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (key, execution, event_id);
ALTER TABLE ONLY perdure_recorded.value
    ADD CONSTRAINT value_pkey PRIMARY KEY (key, name);
CREATE INDEX ask_open ON perdure_recorded.ask USING btree (asked_at) WHERE (NOT answered);
CREATE INDEX attribute_value ON perdure_recorded.attribute USING btree (name, kind, text, number);
CREATE INDEX dead_letter_key ON perdure_recorded.dead_letter USING btree (key);
CREATE INDEX inbox_order ON perdure_recorded.inbox USING btree (key, visible_at, id);
CREATE UNIQUE INDEX inbox_timer ON perdure_recorded.inbox USING btree (key, execution, event_id) WHERE timer;
CREATE INDEX instance_blocked ON perdure_recorded.instance USING btree (created_at) WHERE blocked;
CREATE INDEX instance_created ON perdure_recorded.instance USING btree (created_at DESC, key DESC);
CREATE INDEX instance_ended ON perdure_recorded.instance USING btree (ended_at) WHERE (ended_at > 0);
CREATE INDEX instance_fetch ON perdure_recorded.instance USING btree (kind, fetch_at) WHERE (fetch_at > 0);
CREATE UNIQUE INDEX instance_id ON perdure_recorded.instance USING btree (id) WHERE current;
CREATE INDEX instance_lease ON perdure_recorded.instance USING btree (lease_token) WHERE (lease_token IS NOT NULL);
CREATE INDEX instance_parent ON perdure_recorded.instance USING btree (parent_key) WHERE (parent_key IS NOT NULL);
CREATE INDEX session_owner ON perdure_recorded.session USING btree (owner);
CREATE INDEX task_expire ON perdure_recorded.task USING btree (expire_at) WHERE (expire_at > 0);
CREATE INDEX task_fair ON perdure_recorded.task USING btree (fairness_key, kind, fetch_at) WHERE (rank_at > 0);
CREATE INDEX task_fetch ON perdure_recorded.task USING btree (kind, fetch_at) WHERE (fetch_at > 0);
CREATE INDEX task_held ON perdure_recorded.task USING btree (kind) WHERE ((fetch_at = 0) AND (state = 2));
CREATE INDEX task_session ON perdure_recorded.task USING btree (session, kind, fetch_at) WHERE (session <> ''::text);
