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
CREATE TABLE perdure_recorded.record (
    namespace text NOT NULL COLLATE pg_catalog."C",
    key text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    updated_at bigint NOT NULL,
    value bytea
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
    failure bytea
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
INSERT INTO perdure_recorded.dead_letter OVERRIDING SYSTEM VALUE VALUES (1, false, '01a1fdad-662a-741e-84a2-b8a59946de24', 'terminated', 0, 0, 1, false, '', '', 0, 'the instance was terminated', 1795257361965446, '\x01010506436c65616e73090c227465726d696e61746564220b10028080800204a08d0606060880808032132434653236316663312d666138352d346663392d623539312d396262663933316366363533');
INSERT INTO perdure_recorded.execution VALUES ('01a1fdad-65f2-7167-bea2-2984a3337393', 1, 7, 3);
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65b8-726c-83b7-fc022a4f2dda', 1, 1, 2, '\x530101029ca4acd5ddb1b0060507417070726f7665090522616e6e220b10028080800204a08d0606060880808032132462613838316436322d353064322d343261642d623137622d38343862646331373863306531012005054772656574070764656661756c74090522616e6e220b1102060480897a06809c9c3908a01f0ac8010c809c9c39');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65b8-726c-83b7-fc022a4f2dda', 1, 3, 2, '\x1c010302dabbadd5ddb1b0060404070b2268656c6c6f20616e6e2208020e012204aacbadd5ddb1b00606d00f');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65b8-726c-83b7-fc022a4f2dda', 1, 5, 2, '\x0d010502d681aed5ddb1b006040813012204d681cd96afddbe060680809fc1d1ab0e');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65d8-7289-883b-2dc0791aa0e0', 1, 1, 5, '\x55010102fcb7afd5ddb1b006050646616d696c7909082266616d696c79220b10028080800204a08d0606060880808032132438633237323232322d303534622d346434362d396333372d37373163383237623330663905012605013713012204fcb7ce96afddbe060680809fc1d1ab0e3401240507417070726f7665090c66616d696c792d6368696c640b1001a1fdad65df741fb2ea8d5aaa6bc95e0c010f0522616e6e224b012405044563686f092830316131666461642d363564382d373238392d383833622d3264633037393161613065302f312f350b1001a1fdad65df74259f485df2451d05ce0f0522626f6222');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65df-7425-9f48-5df2451d05ce', 1, 1, 2, '\x4a010102c8b8b0d5ddb1b00605044563686f090522626f62220b10028080800204a08d06060608808080320d1e031001a1fdad65d87289883b2dc0791aa0e0050666616d696c790602080a090140050522626f6222');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65df-741f-b2ea-8d5aaa6bc95e', 1, 1, 2, '\x4d0101029abab0d5ddb1b0060507417070726f7665090522616e6e220b10028080800204a08d06060608808080320d1e031001a1fdad65d87289883b2dc0791aa0e0050666616d696c790602080831012005054772656574070764656661756c74090522616e6e220b1102060480897a06809c9c3908a01f0ac8010c809c9c39');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65d8-7289-883b-2dc0791aa0e0', 1, 6, 1, '\x14010702b080b1d5ddb1b006040a070522626f6222');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65df-741f-b2ea-8d5aaa6bc95e', 1, 3, 2, '\x1c010302bee0b0d5ddb1b0060404070b2268656c6c6f20616e6e2208020e0122048ef0b0d5ddb1b00606d00f');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65df-741f-b2ea-8d5aaa6bc95e', 1, 5, 2, '\x0d010502d8b2b1d5ddb1b006040813012204d8b2d096afddbe060680809fc1d1ab0e');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65f2-7167-bea2-2984a3337393', 1, 1, 3, '\x52010102b2abb3d5ddb1b0060506526f756e647309055b302c305d0b10028080800204a08d0606060880808032132430386635373163382d653361372d343739392d396561392d3132323763336330383939323a010602b2abb3d5ddb1b006050361646407023330092433383730373435612d393031662d343761342d616135622d3638663461383161616232351201440506526f756e647309065b312c33305d');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65f2-7167-bea2-2984a3337393', 2, 1, 1, '\x7c010102b2abb3d5ddb1b0060506526f756e647309065b312c33305d0b10028080800204a08d06060608808080320e0111252433383730373435612d393031662d343761342d616135622d363866346138316161623235132430386635373163382d653361372d343739392d396561392d313232376333633038393932');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-65f2-7167-bea2-2984a3337393', 2, 2, 1, '\x0b010202aa94b4d5ddb1b006');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-6608-7904-b005-0a8a302fa052', 1, 1, 3, '\x4f010102b0f3b4d5ddb1b0060506517565756564090234310b10028080800204a08d0606060880808032132435316638363635622d306539392d346539312d386430652d3061386361336234643866340e0122048083b5d5ddb1b00606d00f13012204b0f3d396afddbe060680809fc1d1ab0e');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-6608-7904-b005-0a8a302fa052', 1, 4, 3, '\x0d010502c4c6b5d5ddb1b0060404040123040614012005054c6174657207056c6174657209023431');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-6615-7e19-a8d0-40769b283aae', 1, 1, 2, '\x4c010102a8afb6d5ddb1b0060507526566757365640b10028080800204a08d0606060880808032132439353436313362302d333932382d343964652d393330662d37653336623430336436333525012005074465636c696e65070764656661756c740b0f0480897a06809c9c3908a01f0ac801');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-6615-7e19-a8d0-40769b283aae', 1, 3, 2, '\x3f0104028adbb6d5ddb1b0060404072e0511636172642034323a206465636c696e656408010d171603086465636c696e656405086465636c696e65640e010802320141052e0511636172642034323a206465636c696e656408010d171603086465636c696e656405086465636c696e65640e01');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-661e-7227-8cc1-610513734ba7', 1, 1, 2, '\x5801010286abb7d5ddb1b0060506436c65616e73090b2263616e63656c6c6564220b10028080800204a08d0606060880808032132430623862646465332d623232342d346236392d616439312d6633663831333639646664301301220486abd696afddbe060680809fc1d1ab0e');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-661e-7227-8cc1-610513734ba7', 1, 3, 3, '\x3b0109028c92b8d5ddb1b00605087265636f72646564072465323036633635642d616136342d346437392d613761612d38636537656536373562623804012304041f012005054772656574070764656661756c74090b2263616e63656c6c656422');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-661e-7227-8cc1-610513734ba7', 1, 6, 2, '\x22010302bea6b8d5ddb1b006040a07112268656c6c6f2063616e63656c6c65642208022401420520051363616e63656c6c65643a207265636f726465640b0963616e63656c6c6564');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-662a-741e-84a2-b8a59946de24', 1, 1, 1, '\x0c014305087265636f72646564');
INSERT INTO perdure_recorded.history VALUES ('01a1fdad-662f-7ba2-95e3-9f7135da5687', 1, 1, 2, '\x56010102c2bab9d5ddb1b0060506436c65616e7309092277616974696e67220b10028080800204a08d0606060880808032132465393466653536612d646465612d343938642d616436642d62343561633235366161633013012204c2bad896afddbe060680809fc1d1ab0e');
INSERT INTO perdure_recorded.inbox VALUES ('01a1fdad-65b8-726c-83b7-fc022a4f2dda', 3, 1826793361875051, 5, true, 1, 6, '\x0105040c');
INSERT INTO perdure_recorded.inbox VALUES ('01a1fdad-65d8-7289-883b-2dc0791aa0e0', 2, 1826793361886718, 5, true, 1, 3, '\x01050406');
INSERT INTO perdure_recorded.inbox VALUES ('01a1fdad-65df-741f-b2ea-8d5aaa6bc95e', 3, 1826793361902764, 5, true, 1, 6, '\x0105040c');
INSERT INTO perdure_recorded.inbox VALUES ('01a1fdad-662f-7ba2-95e3-9f7135da5687', 2, 1826793361968801, 5, true, 1, 2, '\x01050404');
INSERT INTO perdure_recorded.inbox VALUES ('01a1fdad-6636-710f-8bb9-ad2b0cebe507', 1, 1795257361974954, 1, false, 0, 0, '\x010105064e6f626f64790905226e6577220b10028080800204a08d0606060880808032132464343739363239392d336162612d343531662d623061662d623763663730396665333161');
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-65b8-726c-83b7-fc022a4f2dda', 'approve', true, 1, 1, false, 1, '2144c22e-19ec-4c2b-bfb6-304e888d3c03', 6, 206, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, 'ba881d62-50d2-42ad-b17b-848bdc178c0e', false, 1795257361857076, 1795257361876798, 0, 1826793361875051, 1, 4, 4, 0, NULL, '', 0, '', 0, 0, 1826793361875051);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-65df-7425-9f48-5df2451d05ce', '01a1fdad-65d8-7289-883b-2dc0791aa0e0/1/5', true, 3, 3, false, 1, 'eef84c70-36e2-4d09-aa5d-719775423228', 2, 83, '01a1fdad-65d8-7289-883b-2dc0791aa0e0', 'family', 1, 5, 0, false, 0, '', '\x', 0, 0, '', false, 1795257361891366, 1795257361896231, 1795257361896231, 0, 0, 0, 2, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-65d8-7289-883b-2dc0791aa0e0', 'family', true, 2, 1, false, 1, '4ccb19b1-3ed0-4108-a2d6-d155b5830bbc', 6, 256, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '8c272222-054b-4d46-9c37-771c827b30f9', false, 1795257361881261, 1795257361900526, 0, 1826793361886718, 1, 4, 4, 0, NULL, '', 0, '', 0, 0, 1826793361886718);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-65df-741f-b2ea-8d5aaa6bc95e', 'family-child', true, 1, 1, false, 1, 'dcc623a5-e49e-4b39-bef8-081b357229fe', 6, 200, '01a1fdad-65d8-7289-883b-2dc0791aa0e0', 'family', 1, 4, 0, false, 0, '', '\x', 0, 0, '', false, 1795257361891366, 1795257361903932, 0, 1826793361902764, 1, 4, 4, 0, NULL, '', 0, '', 0, 0, 1826793361902764);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-65f2-7167-bea2-2984a3337393', 'rounds', true, 4, 1, false, 2, '6d1b63e1-c61b-4fe1-afaf-686d15b438c5', 2, 135, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '08f571c8-e3a7-4799-9ea9-1227c3c08992', false, 1795257361913803, 1795257361926478, 0, 0, 0, 0, 4, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-6608-7904-b005-0a8a302fa052', 'queued', true, 5, 1, false, 1, '1d4669ef-85ad-4a22-912a-67375efdc621', 6, 149, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '51f8665b-0e99-4e91-8d0e-0a8ca3b4d8f4', false, 1795257361929688, 1795257361939570, 0, 0, 0, 0, 4, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-6615-7e19-a8d0-40769b283aae', 'refused', true, 6, 4, false, 1, 'c495a308-d575-4701-b311-bd67b12323cf', 4, 226, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '954613b0-3928-49de-930f-7e36b403d635', false, 1795257361942731, 1795257361948772, 1795257361948772, 0, 0, 0, 2, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-661e-7227-8cc1-610513734ba7', 'cancelled', true, 7, 5, false, 1, '6fae33a6-dc60-4943-8a85-38c44e6f97cf', 7, 271, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '0b8bdde3-b224-4b69-ad91-f3f81369dfd0', false, 1795257361950926, 1795257361960889, 1795257361960889, 0, 0, 0, 4, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-662a-741e-84a2-b8a59946de24', 'terminated', true, 7, 6, false, 1, '2bfc9878-343a-4557-aeb5-f8c1513fff6f', 1, 12, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, '4e261fc1-fa85-4fc9-b591-9bbf931cf653', false, 1795257361962768, 1795257361965446, 1795257361965446, 0, 0, 0, 2, 0, NULL, '', 0, '', 0, 0, 0);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-662f-7ba2-95e3-9f7135da5687', 'waiting', true, 7, 1, false, 1, '0981344a-2d82-47ee-9029-a03516afa49a', 2, 105, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, 'e94fe56a-ddea-498d-ad6d-b45ac256aac0', false, 1795257361967901, 1795257361969683, 0, 1826793361968801, 1, 4, 3, 0, NULL, '', 0, '', 0, 0, 1826793361968801);
INSERT INTO perdure_recorded.instance VALUES ('01a1fdad-6636-710f-8bb9-ad2b0cebe507', 'unserved', true, 8, 1, false, 1, '54d85700-aa9b-4f37-a3c2-a97954889aa5', 0, 0, NULL, '', 0, 0, 0, false, 0, '', '\x', 0, 0, 'd4796299-3aba-451f-b0af-b7cf709fe31a', false, 1795257361974954, 1795257361974954, 0, 1795257361974954, 1, 73, 2, 0, NULL, '', 0, '', 0, 0, 1795257361974954);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (1, 'Approve', '', 2);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (2, 'Family', '', 2);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (3, 'Echo', '', 2);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (4, 'Rounds', '', 2);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (5, 'Queued', '', 2);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (6, 'Refused', '', 2);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (7, 'Cleans', '', 2);
INSERT INTO perdure_recorded.kind OVERRIDING SYSTEM VALUE VALUES (8, 'Nobody', '', 2);
INSERT INTO perdure_recorded.migration VALUES (1, 'core', 1, 1795257361837875);
INSERT INTO perdure_recorded.outcome VALUES ('01a1fdad-65df-7425-9f48-5df2451d05ce', NULL, '\x01030522626f6222');
INSERT INTO perdure_recorded.outcome VALUES ('01a1fdad-6615-7e19-a8d0-40769b283aae', NULL, '\x01052e0511636172642034323a206465636c696e656408010d171603086465636c696e656405086465636c696e65640e01');
INSERT INTO perdure_recorded.outcome VALUES ('01a1fdad-661e-7227-8cc1-610513734ba7', NULL, '\x010520051363616e63656c6c65643a207265636f726465640b0963616e63656c6c6564');
INSERT INTO perdure_recorded.outcome VALUES ('01a1fdad-662a-741e-84a2-b8a59946de24', NULL, '\x01052205147465726d696e617465643a207265636f726465640b0a7465726d696e61746564');
INSERT INTO perdure_recorded.task VALUES ('01a1fdad-6608-7904-b005-0a8a302fa052', 1, 6, 2, 1, 1, 0, NULL, '', 0, false, 1795257361939570, 1795257361939570, 0, 1795257361939570, 0, '', '', '', '\x012005054c6174657207056c6174657209023431', NULL, NULL);
INSERT INTO perdure_recorded.task_kind OVERRIDING SYSTEM VALUE VALUES (1, 'default', 'Greet', 3);
INSERT INTO perdure_recorded.task_kind OVERRIDING SYSTEM VALUE VALUES (2, 'later', 'Later', 3);
INSERT INTO perdure_recorded.task_kind OVERRIDING SYSTEM VALUE VALUES (3, 'default', 'Decline', 3);
SELECT pg_catalog.setval('perdure_recorded.dead_letter_id_seq', 1, true);
SELECT pg_catalog.setval('perdure_recorded.kind_id_seq', 8, true);
SELECT pg_catalog.setval('perdure_recorded.task_kind_id_seq', 3, true);
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
ALTER TABLE ONLY perdure_recorded.record
    ADD CONSTRAINT record_pkey PRIMARY KEY (namespace, key);
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
CREATE INDEX task_expire ON perdure_recorded.task USING btree (expire_at) WHERE (expire_at > 0);
CREATE INDEX task_fetch ON perdure_recorded.task USING btree (kind, fetch_at) WHERE (fetch_at > 0);
