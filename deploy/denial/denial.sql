-- Deploy fencepost:denial/denial to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.denial (
    denial_no        bigint      not null generated always as identity,
    session_id       text        not null,
    line_no          bigint      not null,
    denied_at        timestamptz not null,
    principal        name        not null,
    sqlstate         text        not null,
    message          text        not null,
    command          text,
    application      text,
    raised_in        text,
    reported_at      timestamptz not null,
    reported_by      name        not null,
    suppressed       bigint      not null default 0,
    suppressed_until timestamptz,

    constraint denial_pk primary key (session_id, line_no, denied_at),
    constraint denial_number_uq unique (denial_no),
    constraint denial_is_of_a_permission check (sqlstate = '42501'),
    constraint denial_suppressed_is_a_count check (suppressed >= 0),
    constraint denial_suppressed_has_its_time
        check ((suppressed > 0) = (suppressed_until is not null))
);

create index denial_principal_ix on ledger.denial (principal, denied_at, denial_no);

comment on table ledger.denial is
    'What the server itself denied to a principal, as its log has it; a class it does not know.';
comment on column ledger.denial.session_id is
    'The session in the server''s log: when it began and its process, in hexadecimal.';
comment on column ledger.denial.line_no is
    'The line within the session; with the session and the time it is one line of the log.';
comment on column ledger.denial.denied_at is 'The time of the line, as reported.';
comment on column ledger.denial.message is
    'The primary message. Neither its detail nor the statement is kept: they may hold secrets.';
comment on column ledger.denial.command is 'The command tag: INSERT, SELECT and so on.';
comment on column ledger.denial.application is 'What the session calls itself.';
comment on column ledger.denial.raised_in is
    'The server''s C function, where the log is verbose: exec_stmt_raise is a RAISE of SQL code.';
comment on column ledger.denial.suppressed is
    'Further denials of this principal that were over the rate and got no row; at least so many.';
comment on column ledger.denial.suppressed_until is 'The time of the last one counted.';

commit;
