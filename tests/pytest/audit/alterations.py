"""What may happen to a deployed ledger, and which rule of the audit finds it, at which object.

Each is one thing altered, by a superuser, in a transaction that a test rolls back. Before it
`SETTING` has made two roles: planted_worker, a client as it has to be, and planted_stranger, who
belongs to nothing; and a schema of somebody else's.
"""

from __future__ import annotations

from dataclasses import dataclass

SETTING = """
create role planted_worker login connection limit 4 in role fencepost_worker;
alter role planted_worker set idle_in_transaction_session_timeout = '60s';
alter role planted_worker set statement_timeout = '5min';
alter role planted_worker set temp_file_limit = '1GB';
create role planted_stranger login;
create schema planted;
create table planted.notes (note text);
create function planted.harmless() returns integer language sql as 'select 1';
"""


@dataclass(frozen=True)
class Alteration:
    """One thing altered, the rule that has to find it, and the object that it has to name."""

    rule: str
    object: str
    statement: str
    major: int = 15
    """From which major on it can be done."""
    last: int = 18
    """Until which major it can be done."""

    def __str__(self) -> str:
        return f"{self.rule}: {self.statement.strip().splitlines()[0][:60]}"


CHECK = 'kernel."check"(p_class text)'
DIGEST = "ledger.digest(p_content jsonb)"
GUARD = "ledger.tg_refusal__guard()"

ALTERATIONS = [
    # -- functions
    Alteration("functions/search_path", CHECK, f"alter function {CHECK} reset search_path"),
    Alteration("functions/search_path", CHECK, f"alter function {CHECK} set search_path = ''"),
    Alteration(
        "functions/search_path", DIGEST, f"alter function {DIGEST} set search_path = ledger"
    ),
    Alteration(
        "functions/search_path",
        DIGEST,
        f"alter function {DIGEST} set search_path = pg_catalog, ledger, pg_temp",
    ),
    Alteration("functions/settings", CHECK, f"alter function {CHECK} set work_mem = '4MB'"),
    Alteration("functions/definer", CHECK, f"alter function {CHECK} security invoker"),
    Alteration("functions/definer", DIGEST, f"alter function {DIGEST} security definer"),
    Alteration(
        "functions/altered",
        DIGEST,
        f"create or replace function {DIGEST} returns bytea language sql immutable"
        " set search_path = pg_catalog, pg_temp as 'select null::bytea'",
    ),
    Alteration(
        "functions/altered",
        GUARD,
        f"create or replace function {GUARD} returns trigger language plpgsql security definer"
        " set search_path = pg_catalog, pg_temp as 'begin return new; end'",
    ),
    Alteration(
        "functions/altered",
        "kernel.api_version()",
        "drop function kernel.api_version();"
        "create function kernel.api_version() returns bigint language sql security definer"
        " set search_path = pg_catalog, pg_temp as 'select 1::bigint';"
        "alter function kernel.api_version() owner to fencepost_owner",
    ),
    Alteration("functions/attributes", DIGEST, f"alter function {DIGEST} volatile"),
    Alteration("functions/attributes", CHECK, f"alter function {CHECK} parallel safe"),
    Alteration("functions/attributes", DIGEST, f"alter function {DIGEST} leakproof"),
    Alteration(
        "functions/support",
        CHECK,
        f"alter function {CHECK} support pg_catalog.text_starts_with_support",
    ),
    Alteration("functions/missing", CHECK, f"drop function {CHECK}"),
    Alteration("functions/missing", CHECK, f"alter function {CHECK} rename to checked"),
    Alteration(
        "functions/unexpected",
        "kernel.accept_all()",
        "create function kernel.accept_all() returns void language sql"
        " set search_path = pg_catalog, pg_temp as ''",
    ),
    Alteration(
        "functions/overload",
        'kernel."check"(p_class text, p_class_too text)',
        'create function kernel."check"(p_class text, p_class_too text) returns void'
        " language sql security definer set search_path = pg_catalog, pg_temp as ''",
    ),
    Alteration(
        "functions/polymorphic",
        "planted.of_any(anyelement)",
        "create function planted.of_any(anyelement) returns text language sql security definer"
        " set search_path = pg_catalog, pg_temp as 'select $1::text';"
        "alter function planted.of_any(anyelement) owner to fencepost_owner",
    ),
    Alteration(
        "functions/polymorphic",
        "ledger.of_cursor(refcursor)",
        "create function ledger.of_cursor(refcursor) returns void language sql security definer"
        " set search_path = pg_catalog, pg_temp as ''",
    ),
    Alteration("functions/public_execute", CHECK, f"grant execute on function {CHECK} to public"),
    Alteration("functions/public_execute", GUARD, f"grant execute on function {GUARD} to public"),
    Alteration(
        "functions/extra_grantee", CHECK, f"grant execute on function {CHECK} to fencepost_worker"
    ),
    Alteration(
        "functions/extra_grantee", CHECK, f"grant execute on function {CHECK} to planted_stranger"
    ),
    Alteration(
        "functions/extra_grantee", GUARD, f"grant execute on function {GUARD} to fencepost_sensor"
    ),
    Alteration(
        "functions/missing_grant",
        "kernel.api_version()",
        "revoke execute on function kernel.api_version() from fencepost_worker",
    ),
    Alteration(
        "functions/foreign_definer",
        "planted.as_superuser()",
        "create function planted.as_superuser() returns void language sql security definer as '';"
        "grant usage on schema planted to public",
    ),
    Alteration(
        "functions/foreign_definer",
        "planted.for_workers()",
        "create function planted.for_workers() returns void language sql security definer as '';"
        "revoke execute on function planted.for_workers() from public;"
        "grant execute on function planted.for_workers() to fencepost_worker;"
        "grant usage on schema planted to fencepost_worker",
    ),
    Alteration(
        "functions/foreign_definer",
        "planted.for_one()",
        "create procedure planted.for_one() language sql security definer as '';"
        "revoke execute on procedure planted.for_one() from public;"
        "grant execute on procedure planted.for_one() to planted_worker;"
        "grant usage on schema planted to planted_worker",
    ),
    Alteration(
        "functions/foreign_definer",
        "as_superuser()",
        "create function pg_catalog.as_superuser() returns void language sql security definer"
        " as ''",
    ),
    Alteration(
        "functions/native",
        "planted.read(text)",
        "create function planted.read(text) returns text language internal as 'pg_read_file_all';"
        "revoke execute on function planted.read(text) from public;"
        "grant execute on function planted.read(text) to planted_worker;"
        "grant usage on schema planted to planted_worker",
    ),
    # -- owners
    Alteration("owners/functions", CHECK, f"alter function {CHECK} owner to postgres"),
    Alteration(
        "owners/relations", "ledger.campaign", "alter table ledger.campaign owner to postgres"
    ),
    Alteration("owners/relations", "audit.events", "alter view audit.events owner to postgres"),
    Alteration("owners/schemas", "kernel", "alter schema kernel owner to postgres"),
    Alteration("owners/types", "kernel.receipt", "alter type kernel.receipt owner to postgres"),
    Alteration(
        "owners/elsewhere",
        "table planted.notes",
        "alter table planted.notes owner to fencepost_owner",
    ),
    Alteration(
        "owners/elsewhere",
        "routine planted.harmless()",
        "alter function planted.harmless() owner to fencepost_owner",
    ),
    Alteration(
        "owners/elsewhere",
        "materialized view planted.shadow",
        "create materialized view planted.shadow as select planted.harmless();"
        "alter materialized view planted.shadow owner to fencepost_owner",
    ),
    Alteration(
        "owners/database",
        "database {database}",
        "alter database {database} owner to planted_worker",
    ),
    # -- roles
    Alteration("roles/group_login", "fencepost_owner", "alter role fencepost_owner login"),
    Alteration("roles/group_login", "fencepost_worker", "alter role fencepost_worker login"),
    Alteration("roles/group_attribute", "fencepost_owner", "alter role fencepost_owner createrole"),
    Alteration(
        "roles/group_attribute", "fencepost_auditor", "alter role fencepost_auditor bypassrls"
    ),
    Alteration(
        "roles/principal_attribute", "planted_worker", "alter role planted_worker superuser"
    ),
    Alteration(
        "roles/principal_attribute", "planted_worker", "alter role planted_worker replication"
    ),
    Alteration(
        "roles/owner_member", "planted_stranger", "grant fencepost_owner to planted_stranger"
    ),
    Alteration(
        "roles/owner_member",
        "planted_worker",
        "create role between; grant fencepost_owner to between; grant between to planted_worker",
    ),
    Alteration(
        "roles/owner_member",
        "planted_stranger",
        "grant fencepost_owner to planted_stranger with admin true, inherit false, set false",
        major=16,
    ),
    Alteration(
        "roles/group_membership", "fencepost_worker", "grant fencepost_verifier to fencepost_worker"
    ),
    Alteration(
        "roles/group_membership", "fencepost_auditor", "grant pg_read_all_data to fencepost_auditor"
    ),
    Alteration(
        "roles/group_membership", "fencepost_owner", "grant planted_stranger to fencepost_owner"
    ),
    Alteration("roles/two_duties", "planted_worker", "grant fencepost_verifier to planted_worker"),
    Alteration(
        "roles/two_duties",
        "planted_worker",
        "create role between; grant fencepost_sensor to between; grant between to planted_worker",
    ),
    Alteration(
        "roles/two_duties",
        "planted_worker",
        "grant fencepost_verifier to planted_worker with inherit false, set true",
        major=16,
    ),
    Alteration(
        "roles/nested_membership",
        "planted_stranger",
        "create role between; grant fencepost_worker to between; grant between to planted_stranger;"
        "alter role planted_stranger connection limit 1",
    ),
    Alteration(
        "roles/membership_without_inherit",
        "planted_stranger",
        "alter role planted_stranger noinherit; grant fencepost_worker to planted_stranger",
    ),
    Alteration(
        "roles/membership_without_inherit",
        "planted_worker",
        "grant fencepost_worker to planted_worker with inherit false",
        major=16,
    ),
    Alteration(
        "roles/admin_option",
        "planted_worker",
        "grant fencepost_worker to planted_worker with admin option",
    ),
    Alteration("roles/predefined", "planted_worker", "grant pg_read_all_data to planted_worker"),
    Alteration(
        "roles/predefined",
        "planted_worker",
        "create role between; grant pg_signal_backend to between; grant between to planted_worker",
    ),
    Alteration(
        "roles/predefined",
        "planted_worker",
        "grant pg_execute_server_program to planted_worker with inherit false",
        major=16,
    ),
    Alteration(
        "roles/becomes_another", "planted_stranger", "grant planted_worker to planted_stranger"
    ),
    Alteration(
        "roles/settings",
        "planted_worker",
        "alter role planted_worker set search_path = public, pg_temp",
    ),
    Alteration(
        "roles/settings",
        "planted_worker",
        "alter role planted_worker in database {database} set session_replication_role = replica",
    ),
    Alteration(
        "roles/settings",
        "planted_worker",
        "alter role planted_worker set synchronous_commit = off",
    ),
    Alteration(
        "roles/connection_limit", "planted_worker", "alter role planted_worker connection limit -1"
    ),
    Alteration(
        "roles/timeouts", "planted_worker", "alter role planted_worker reset statement_timeout"
    ),
    Alteration(
        "roles/temporary_files", "planted_worker", "alter role planted_worker reset temp_file_limit"
    ),
    Alteration(
        "roles/password_expires",
        "planted_worker",
        "alter role planted_worker password 'secret' valid until 'infinity'",
    ),
    Alteration(
        "roles/password_expires",
        "planted_worker",
        "alter role planted_worker password 'secret' valid until '2026-01-01'",
    ),
    Alteration(
        "roles/settings",
        "planted_worker",
        "alter role planted_worker set log_min_messages = panic",
    ),
    Alteration(
        "roles/timeouts", "planted_worker", "alter role planted_worker set statement_timeout = 0"
    ),
    Alteration(
        "roles/temporary_files",
        "planted_worker",
        "alter role planted_worker set temp_file_limit = -1",
    ),
    Alteration(
        "roles/password_of_group",
        "fencepost_owner",
        "alter role fencepost_owner password 'secret'",
    ),
    Alteration(
        "roles/missing", "fencepost_sensor", "alter role fencepost_sensor rename to planted_sensor"
    ),
    Alteration(
        "roles/createrole",
        "planted_maker",
        "create role planted_maker login createrole;"
        "grant fencepost_worker to planted_maker with admin option",
    ),
    Alteration(
        "roles/password",
        "planted_worker",
        "set local password_encryption = md5; alter role planted_worker password 'secret'",
    ),
    # -- grants
    Alteration(
        "grants/relation", "ledger.campaign", "grant select on ledger.campaign to fencepost_worker"
    ),
    Alteration("grants/relation", "ledger.campaign", "grant truncate on ledger.campaign to public"),
    Alteration(
        "grants/relation", "audit.events", "grant select on audit.events to fencepost_worker"
    ),
    Alteration(
        "grants/relation",
        "ledger.refusal_refusal_no_seq",
        "grant usage on sequence ledger.refusal_refusal_no_seq to fencepost_worker",
    ),
    Alteration(
        "grants/column",
        "ledger.campaign.state",
        "grant update (state) on ledger.campaign to fencepost_worker",
    ),
    Alteration(
        "grants/missing", "audit.events", "revoke select on audit.events from fencepost_auditor"
    ),
    Alteration("grants/type", "kernel.receipt", "grant usage on type kernel.receipt to public"),
    Alteration(
        "grants/grant_option",
        "kernel.api_version()",
        "grant execute on function kernel.api_version() to fencepost_worker with grant option",
    ),
    Alteration(
        "grants/grant_option",
        "audit.events",
        "grant select on audit.events to fencepost_auditor with grant option",
    ),
    Alteration(
        "grants/default_privileges",
        "fencepost_owner",
        "alter default privileges for role fencepost_owner grant execute on functions to public",
    ),
    Alteration(
        "grants/default_privileges",
        "fencepost_owner",
        "alter default privileges for role fencepost_owner in schema ledger"
        " grant select on tables to fencepost_auditor",
    ),
    Alteration(
        "grants/default_privileges",
        "deployer",
        "alter default privileges for role deployer in schema kernel"
        " grant execute on functions to planted_worker",
    ),
    Alteration(
        "grants/default_privileges",
        "planted_stranger",
        "alter default privileges for role planted_stranger grant select on tables to public",
    ),
    Alteration(
        "grants/around",
        "planted.campaigns",
        "create view planted.campaigns as select * from ledger.campaign;"
        "grant usage on schema planted to planted_worker;"
        "grant select on planted.campaigns to planted_worker",
    ),
    Alteration(
        "grants/around",
        "planted.campaigns",
        "create materialized view planted.campaigns as select * from ledger.campaign;"
        "grant usage on schema planted to public; grant select on planted.campaigns to public",
    ),
    Alteration(
        "grants/around",
        "planted.states",
        "create view planted.campaigns as select * from ledger.campaign;"
        "create view planted.states as select state from planted.campaigns;"
        "grant usage on schema planted to fencepost_worker;"
        "grant update (state) on planted.states to fencepost_worker",
    ),
    Alteration(
        "grants/around",
        "planted.notes",
        "create rule planted as on insert to planted.notes"
        " do instead update ledger.campaign set state = new.note;"
        "create role between; grant between to planted_worker;"
        "grant usage on schema planted to public; grant insert on planted.notes to between",
    ),
    Alteration(
        "grants/around",
        "planted.events",
        "create view planted.events as select * from audit.events;"
        "grant usage on schema planted to fencepost_worker;"
        "grant select on planted.events to fencepost_worker",
    ),
    Alteration(
        "grants/large_object",
        "large objects of planted_worker",
        "select lo_create(4711); alter large object 4711 owner to planted_worker",
    ),
    Alteration(
        "grants/large_object",
        "large object 4711",
        "select lo_create(4711); grant select on large object 4711 to public",
    ),
    # -- schemas and the database
    Alteration("schemas/missing", "audit", "alter schema audit rename to audited"),
    Alteration(
        "schemas/extra_privilege", "kernel", "grant create on schema kernel to fencepost_admin"
    ),
    Alteration("schemas/extra_privilege", "ledger", "grant usage on schema ledger to public"),
    Alteration(
        "schemas/missing_privilege", "kernel", "revoke usage on schema kernel from fencepost_worker"
    ),
    Alteration("schemas/create", "public", "grant create on schema public to public"),
    Alteration("schemas/create", "planted", "grant create on schema planted to planted_worker"),
    Alteration(
        "schemas/create",
        "planted",
        "create role between; grant between to planted_worker;"
        "grant create on schema planted to between",
    ),
    Alteration("schemas/others", "planted", "grant usage on schema planted to public"),
    Alteration(
        "database/connect", "database {database}", "grant connect on database {database} to public"
    ),
    Alteration(
        "database/connect",
        "database {database}",
        "grant connect on database {database} to planted_stranger with grant option;"
        "set local role planted_stranger;"
        "grant connect on database {database} to public;"
        "reset role",
    ),
    Alteration(
        "database/no_connect",
        "fencepost_worker",
        "revoke connect on database {database} from fencepost_worker",
    ),
    Alteration(
        "database/temporary",
        "database {database}",
        "grant temporary on database {database} to public",
    ),
    Alteration(
        "database/temporary",
        "database {database}",
        "grant temporary on database {database} to planted_stranger with grant option;"
        "set local role planted_stranger;"
        "grant temporary on database {database} to public;"
        "reset role",
    ),
    Alteration(
        "database/create",
        "database {database}",
        "grant create on database {database} to fencepost_worker",
    ),
    Alteration(
        "database/create",
        "database {database}",
        "grant create on database {database} to planted_stranger with grant option;"
        "set local role planted_stranger;"
        "grant create on database {database} to public;"
        "reset role",
    ),
    Alteration(
        "database/settings",
        "database {database}",
        "alter database {database} set session_replication_role = replica",
    ),
    Alteration(
        "database/settings", "every role", "alter role all set session_preload_libraries = 'spy'"
    ),
    # -- triggers
    Alteration(
        "triggers/state",
        "campaign_10_guard on ledger.campaign",
        "alter table ledger.campaign disable trigger campaign_10_guard",
    ),
    Alteration(
        "triggers/state",
        "campaign_event_10_guard on ledger.campaign_event",
        "alter table ledger.campaign_event enable replica trigger campaign_event_10_guard",
    ),
    Alteration(
        "triggers/missing",
        "verdict_10_kept on ledger.verdict",
        "drop trigger verdict_10_kept on ledger.verdict",
    ),
    Alteration(
        "triggers/altered",
        "verdict_10_kept on ledger.verdict",
        "create or replace trigger verdict_10_kept before delete on ledger.verdict for each row"
        " execute function ledger.tg__append_only()",
    ),
    Alteration(
        "triggers/unexpected",
        "zz_planted on ledger.verdict",
        "create function planted.spy() returns trigger language plpgsql as 'begin return new; end';"
        "create trigger zz_planted before insert on ledger.verdict for each row"
        " execute function planted.spy()",
    ),
    Alteration(
        "triggers/internal",
        "attempt_campaign_fk on ledger.attempt",
        "alter table ledger.attempt disable trigger all;"
        "alter table ledger.attempt enable trigger user",
    ),
    # -- tables
    Alteration("tables/missing", "audit.events", "drop view audit.events"),
    Alteration("tables/unexpected", "ledger.shadow", "create table ledger.shadow (id bigint)"),
    Alteration(
        "tables/unexpected", "audit.secrets", "create view audit.secrets as select 1 as one"
    ),
    Alteration(
        "tables/unexpected",
        "ledger.shadow",
        "create materialized view ledger.shadow as select planted.harmless();"
        "alter materialized view ledger.shadow owner to fencepost_owner",
    ),
    Alteration(
        "tables/column",
        "ledger.reaper_pass.class",
        "alter table ledger.reaper_pass alter column class type varchar using 'another'",
    ),
    Alteration(
        "tables/column",
        "ledger.campaign.target",
        "alter table ledger.campaign alter column target drop not null",
    ),
    Alteration(
        "tables/column",
        "ledger.campaign.shadow",
        "alter table ledger.campaign add column shadow text",
    ),
    Alteration(
        "tables/column",
        "ledger.origin.deployed_by",
        "alter table ledger.origin alter column deployed_by set default 'nobody'",
    ),
    Alteration(
        "tables/constraint",
        "refusal_is_not_ok on ledger.refusal",
        "alter table ledger.refusal drop constraint refusal_is_not_ok",
    ),
    Alteration(
        "tables/constraint",
        "origin_is_one_row on ledger.origin",
        "alter table ledger.origin drop constraint origin_is_one_row;"
        "alter table ledger.origin add constraint origin_is_one_row check (is_origin) not valid",
    ),
    Alteration(
        "tables/constraint",
        "origin_is_one_row on ledger.origin",
        "alter table ledger.origin drop constraint origin_is_one_row;"
        "alter table ledger.origin add constraint origin_is_one_row check (true)",
    ),
    Alteration(
        "tables/unexpected_constraint",
        "no_more on ledger.campaign",
        "alter table ledger.campaign add constraint no_more check (false) not valid",
    ),
    Alteration(
        "tables/foreign_key",
        "planted_fk on ledger.seat",
        "create table planted.held (class text primary key);"
        "insert into planted.held select distinct class from ledger.seat;"
        "alter table ledger.seat add constraint planted_fk"
        " foreign key (class) references planted.held on delete cascade",
    ),
    Alteration(
        "tables/foreign_key",
        "planted_fk on ledger.seat",
        "create table planted.held (campaign_id bigint primary key);"
        "alter table ledger.seat add constraint planted_fk"
        " foreign key (campaign_id) references planted.held on update set null not valid",
    ),
    Alteration(
        "tables/index", "campaign_open_uq on ledger.campaign", "drop index ledger.campaign_open_uq"
    ),
    Alteration(
        "tables/unexpected_index",
        "planted_ix on ledger.seat",
        "create index planted_ix on ledger.seat (class)",
    ),
    Alteration(
        "tables/unexpected_index",
        'planted."planted (s)" on ledger.seat',
        'create statistics planted."planted (s)" on class, seat_no from ledger.seat',
    ),
    Alteration(
        "tables/rewrite_rule",
        "never on ledger.verdict",
        "create rule never as on insert to ledger.verdict do instead nothing",
    ),
    Alteration(
        "tables/rewrite_rule",
        "_RETURN on ledger.verdict",
        "create rule never as on delete to ledger.verdict do also select 1;"
        'alter rule never on ledger.verdict rename to "_RETURN"',
        last=15,
    ),
    Alteration(
        "tables/sequence",
        "ledger.denial_denial_no_seq",
        "alter sequence ledger.denial_denial_no_seq increment 16 cycle maxvalue 100",
    ),
    Alteration(
        "tables/column",
        "ledger.answer.meaning",
        'alter table ledger.answer alter column meaning type text collate "C"',
    ),
    Alteration(
        "tables/inherits",
        "planted.campaign",
        "create table planted.campaign () inherits (ledger.campaign)",
    ),
    Alteration(
        "tables/inherits",
        "ledger.seat",
        "create table planted.seats (); alter table ledger.seat inherit planted.seats",
    ),
    Alteration(
        "tables/inherits",
        "ledger.seat",
        "create table planted.seats (like ledger.seat) partition by list (class);"
        "alter table planted.seats attach partition ledger.seat default",
    ),
    Alteration(
        "tables/published",
        "ledger.campaign",
        "create publication planted for table ledger.campaign, planted.notes",
    ),
    Alteration(
        "tables/published",
        "schema ledger",
        "create publication planted for tables in schema ledger",
    ),
    Alteration(
        "tables/published", "database {database}", "create publication planted for all tables"
    ),
    Alteration(
        "tables/subscribed",
        "ledger.campaign",
        "create subscription planted connection 'dbname=nowhere' publication planted"
        " with (connect = false);"
        # As CREATE SUBSCRIPTION does once it has asked the publisher.
        "insert into pg_subscription_rel (srsubid, srrelid, srsubstate)"
        " select oid, 'ledger.campaign'::regclass, 'i' from pg_subscription"
        " where subname = 'planted'",
    ),
    Alteration(
        "tables/replica_identity",
        "ledger.campaign",
        "alter table ledger.campaign replica identity full",
    ),
    Alteration(
        "tables/referenced",
        "noted_class on planted.notes",
        "alter table planted.notes add constraint noted_class"
        " foreign key (note) references ledger.class on delete cascade",
    ),
    Alteration(
        "tables/row_security",
        "ledger.campaign",
        "alter table ledger.campaign enable row level security",
    ),
    Alteration(
        "tables/storage",
        "audit.events",
        "alter view audit.events set (security_invoker = true)",
    ),
    Alteration(
        "tables/storage",
        "ledger.reaper_pass",
        "alter table ledger.reaper_pass set unlogged",
    ),
    Alteration(
        "tables/view",
        "audit.enrolments",
        "create or replace view audit.enrolments as select * from (table audit.enrolments) as e",
    ),
    Alteration(
        "tables/type", "kernel.receipt", "alter type kernel.receipt rename attribute note to notes"
    ),
    Alteration("tables/type", "kernel.planted", "create type kernel.planted as (one integer)"),
    Alteration(
        "tables/rows",
        "ledger.transition",
        "alter table ledger.transition disable trigger user;"
        "update ledger.transition set duties = array['worker'] where transition = 'confirm';"
        "alter table ledger.transition enable always trigger transition_10_append_only;"
        "alter table ledger.transition enable always trigger transition_20_no_truncate",
    ),
    Alteration(
        "tables/rows",
        "ledger.answer",
        "alter table ledger.answer disable trigger user;"
        "delete from ledger.answer where code = 'limit';"
        "alter table ledger.answer enable always trigger answer_10_not_by_hand;"
        "alter table ledger.answer enable always trigger answer_20_no_truncate",
    ),
    # -- extensions and what PostgreSQL brings
    Alteration(
        "extensions/dangerous",
        "dblink",
        "create schema links; create extension dblink schema links;"
        "grant usage on schema links to public",
    ),
    Alteration(
        "extensions/dangerous",
        "dblink",
        "create schema links; create extension dblink schema links;"
        "grant usage on schema links to planted_worker",
    ),
    Alteration(
        "extensions/foreign_server",
        "server elsewhere",
        "create extension postgres_fdw schema planted;"
        "create server elsewhere foreign data wrapper postgres_fdw;"
        "grant usage on foreign server elsewhere to planted_worker",
    ),
    Alteration(
        "extensions/foreign_server",
        "foreign-data wrapper postgres_fdw",
        "create extension postgres_fdw schema planted;"
        "grant usage on foreign data wrapper postgres_fdw to public",
    ),
    Alteration(
        "extensions/foreign_server",
        "user mapping of planted_worker for server elsewhere",
        "create extension postgres_fdw schema planted;"
        "create server elsewhere foreign data wrapper postgres_fdw;"
        "create user mapping for planted_worker server elsewhere options (user 'other')",
    ),
    Alteration(
        "extensions/foreign_server",
        "foreign table planted.far",
        "create extension postgres_fdw schema planted;"
        "create server elsewhere foreign data wrapper postgres_fdw;"
        "create foreign table planted.far (one integer) server elsewhere;"
        "grant usage on schema planted to fencepost_worker;"
        "grant select on planted.far to fencepost_worker",
    ),
    Alteration("extensions/in_our_schema", "pg_trgm", "create extension pg_trgm schema kernel"),
    Alteration(
        "extensions/in_public",
        "pg_trgm",
        "grant usage on schema public to public; create extension pg_trgm schema public",
    ),
    Alteration(
        "extensions/untrusted_language",
        "language plplanted",
        "create function planted.handle() returns language_handler language c"
        " as '$libdir/plpgsql', 'plpgsql_call_handler';"
        "create language plplanted handler planted.handle",
    ),
    Alteration(
        "catalogue/grants", "table pg_authid", "grant select on pg_catalog.pg_authid to public"
    ),
    Alteration(
        "catalogue/grants",
        "table pg_authid",
        "grant select (rolname, rolpassword) on pg_catalog.pg_authid to fencepost_worker",
    ),
    Alteration(
        "catalogue/grants",
        "routine pg_read_file(text)",
        "grant execute on function pg_catalog.pg_read_file(text) to planted_worker",
    ),
    Alteration(
        "catalogue/planted",
        "routine lower(character varying)",
        "create function pg_catalog.lower(varchar) returns text language sql as 'select $1::text'",
    ),
    Alteration(
        "catalogue/planted",
        "operator pg_catalog.= (text, uuid)",
        "create function planted.equal(text, uuid) returns boolean language sql as 'select true';"
        "create operator pg_catalog.= (leftarg = text, rightarg = uuid, function = planted.equal)",
    ),
    Alteration(
        "catalogue/planted", "type planted", "create type pg_catalog.planted as enum ('one')"
    ),
    Alteration(
        "catalogue/planted",
        "view planted",
        "set local allow_system_table_mods = on; create view pg_catalog.planted as select 1 as one",
    ),
    Alteration(
        "catalogue/altered",
        "pg_read_file(text)",
        "alter function pg_catalog.pg_read_file(text) security definer",
    ),
    Alteration(
        "catalogue/altered",
        "lower(text)",
        "alter function pg_catalog.lower(text) set work_mem = '4MB'",
    ),
    Alteration(
        "catalogue/casts",
        "cast (text as uuid)",
        "create function planted.to_uuid(text) returns uuid language sql as 'select null::uuid';"
        "create cast (text as uuid) with function planted.to_uuid(text)",
    ),
    Alteration(
        "catalogue/casts",
        "cast (text as kernel.receipt)",
        "create cast (text as kernel.receipt) with inout as implicit",
    ),
    Alteration(
        "settings/parameter_grant",
        "session_replication_role",
        "grant set on parameter session_replication_role to planted_worker",
    ),
    Alteration(
        "triggers/event",
        "event trigger planted",
        "create function planted.watch() returns event_trigger language plpgsql as 'begin end';"
        "create event trigger planted on ddl_command_end execute function planted.watch();"
        "alter role planted_stranger superuser;"
        "alter event trigger planted owner to planted_stranger;"
        "alter role planted_stranger nosuperuser",
    ),
    # -- probes
    Alteration(
        "probes/read",
        "ledger.campaign",
        "grant usage on schema ledger to fencepost_worker;"
        "grant select on ledger.campaign to fencepost_worker",
    ),
    Alteration(
        "probes/write",
        "ledger.answer",
        "grant usage on schema ledger to fencepost_admin;"
        "grant update on ledger.answer to fencepost_admin",
    ),
    Alteration("probes/call", CHECK, f"grant execute on function {CHECK} to fencepost_worker"),
    Alteration(
        "probes/read",
        "ledger.campaign",
        "grant usage on schema ledger to planted_worker;"
        "grant select (state) on ledger.campaign to planted_worker",
    ),
    Alteration(
        "probes/call",
        CHECK,
        "create role planted_staff; grant planted_staff to planted_worker;"
        f"grant execute on function {CHECK} to planted_staff",
    ),
    Alteration(
        "probes/create",
        "database {database}",
        "grant temporary on database {database} to planted_worker",
    ),
    Alteration(
        "probes/create",
        "database {database}",
        "grant temporary on database {database} to fencepost_worker",
    ),
    Alteration(
        "probes/create",
        "planted",
        "grant create on schema planted to fencepost_reaper;"
        "grant usage on schema planted to fencepost_reaper",
    ),
]

NEUTRAL = {
    "nothing": "select",
    "a comment": "comment on table ledger.campaign is 'other words'",
    "statistics": "analyze ledger.campaign",
    "another client with its limits": """
        create role planted_verifier login connection limit 2 in role fencepost_verifier;
        alter role planted_verifier set idle_in_transaction_session_timeout = '60s';
        alter role planted_verifier set statement_timeout = '5min';
        alter role planted_verifier set temp_file_limit = '1GB'
    """,
    "a client whose statements are logged": "alter role planted_worker set log_statement = 'all'",
    "a definer function of somebody else's that clients cannot call": """
        create function planted.own() returns void language sql security definer as '';
        revoke execute on function planted.own() from public
    """,
    "a function of somebody else's that clients can call as themselves": """
        grant usage on schema planted to fencepost_worker
    """,
    "a definer function of somebody else's where clients cannot look": """
        create function planted.hidden() returns void language sql security definer as ''
    """,
    "a view of somebody else's over one that auditors see": """
        create view planted.events as select * from audit.events;
        grant usage on schema planted to fencepost_auditor;
        grant select on planted.events to fencepost_auditor
    """,
    "a view of somebody else's that reads with its reader's rights": """
        create view planted.campaigns with (security_invoker) as select * from ledger.campaign;
        grant usage on schema planted to fencepost_worker;
        grant select on planted.campaigns to fencepost_worker
    """,
    "a view of somebody else's for somebody else": """
        create view planted.campaigns as select * from ledger.campaign;
        grant usage on schema planted to planted_stranger, fencepost_worker;
        grant select on planted.campaigns to planted_stranger
    """,
    "what somebody else makes next in his own schema": """
        alter default privileges for role planted_stranger in schema planted
        grant select on tables to public
    """,
    "somebody else's foreign server": """
        create extension postgres_fdw schema planted;
        create server elsewhere foreign data wrapper postgres_fdw;
        create user mapping for public server elsewhere;
        create foreign table planted.far (one integer) server elsewhere;
        grant usage on foreign server elsewhere to planted_stranger;
        grant select on planted.far to public
    """,
    "somebody else's cast": """
        create type planted.mood as enum ('well');
        create cast (text as planted.mood) with inout as implicit
    """,
    "somebody else's publication": "create publication planted for table planted.notes",
    "somebody else's large object": "select lo_create(4711)",
    "somebody else's right to read a table of the catalogue": """
        grant select on pg_catalog.pg_authid to planted_stranger
    """,
    "a client of which more is logged": "alter role planted_worker set log_min_messages = debug1",
    "a column of somebody else's": "alter table planted.notes add column more text",
    "a limit of the database's": "alter database {database} set statement_timeout = '10min'",
}
"""What changes nothing that the audit is for."""
