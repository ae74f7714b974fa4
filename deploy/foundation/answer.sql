-- Deploy fencepost:foundation/answer to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.answer (
    code    text not null,
    kind    text not null,
    name    text not null,
    meaning text not null,
    remedy  text not null,

    constraint answer_pk primary key (code),
    constraint answer_name_uq unique (name),
    constraint answer_kind_is_known check (kind in ('outcome', 'misuse', 'retry')),
    constraint answer_outcome_is_its_own_code check (kind <> 'outcome' or code = name)
);

comment on table ledger.answer is
    'Every outcome of a receipt and every SQLSTATE that the kernel raises, with what to do.';
comment on column ledger.answer.kind is
    'outcome: in a receipt, never raised; misuse: raised, fix the caller; retry: call again.';

insert into ledger.answer (code, kind, name, meaning, remedy) values
    ('ok', 'outcome', 'ok',
     'The call was carried out, or had been carried out before (duplicate).',
     'Nothing.'),
    ('stale', 'outcome', 'stale',
     'The generation is not the campaign''s present one, or it has already ended in another way.',
     'Stop, discard the result, claim again.'),
    ('not_holder', 'outcome', 'not_holder',
     'Another principal, or the same one with another token, holds or held this generation.',
     'Stop; use the token of the claim.'),
    ('illegal', 'outcome', 'illegal',
     'The campaign, or the target or class, is in a state in which this is not done.',
     'Read again how it stands, and decide anew.'),
    ('forbidden', 'outcome', 'forbidden',
     'The session''s principal is not enrolled in this class for this duty, or not in the group.',
     'Ask an admin to enrol the principal; do not try again by yourself.'),
    ('repeated', 'outcome', 'repeated',
     'The fingerprint is that of an attempt that failed, was rejected or was contradicted.',
     'Try something else, or fail the attempt.'),
    ('self_verdict', 'outcome', 'self_verdict',
     'The verifier worked on this campaign, or one of the two principals is a member of the other.',
     'Let an independent principal judge.'),
    ('same_family', 'outcome', 'same_family',
     'The class wants another model family for the verdict; these are equal or not registered.',
     'Register the families, or let a verifier of another family judge.'),
    ('bundle_mismatch', 'outcome', 'bundle_mismatch',
     'Digest, fingerprint or new value is not that of the bundle.',
     'Fetch the bundle again and judge what it names.'),
    ('no_evidence', 'outcome', 'no_evidence',
     'An evidence URI with its SHA-256 is needed here.',
     'Store the evidence first, then repeat the call with its reference.'),
    ('paused', 'outcome', 'paused',
     'The class is paused: nothing is accepted meanwhile.',
     'Keep the lease by renewing, or release it, until the class is resumed.'),
    ('expired', 'outcome', 'expired',
     'The lease has run out; an external operation is begun and started under a live one only.',
     'Renew the lease, then call again.'),
    ('operation_open', 'outcome', 'operation_open',
     'An external operation is open, or nobody knows whether it took effect.',
     'Complete, fail or resolve it first, then call again.'),
    ('limit', 'outcome', 'limit',
     'The attempt has had as many such operations as its authority allows.',
     'End the attempt, or ask an admin to authorise more.'),
    ('KN101', 'misuse', 'argument_missing',
     'A required argument is null.',
     'Pass it.'),
    ('KN102', 'misuse', 'argument_malformed',
     'An argument does not have the form that its description states.',
     'See the hint for the form.'),
    ('KN103', 'misuse', 'argument_too_long',
     'A text or jsonb argument is longer than its bound.',
     'Store the whole elsewhere and pass a reference.'),
    ('KN104', 'misuse', 'argument_out_of_range',
     'A duration or number is outside its bounds.',
     'See the detail for the bounds.'),
    ('KN105', 'misuse', 'unknown_policy_key',
     'The policy or acceptance has a key that the kernel does not know.',
     'See the hint for the keys.'),
    ('KN106', 'misuse', 'unknown_class',
     'There is no such class.',
     'Define it with kernel.define_class.'),
    ('KN107', 'misuse', 'unknown_target',
     'The class has no such target.',
     'Define it with kernel.define_target.'),
    ('KN108', 'misuse', 'unknown_campaign',
     'The class has no such campaign.',
     'Take the id from a lease or from audit.campaigns.'),
    ('KN109', 'misuse', 'unknown_principal',
     'There is no such LOGIN role, or it is not registered as it is now.',
     'Create the role, then call kernel.register_principal.'),
    ('KN110', 'misuse', 'unknown_observation',
     'The target has no observation of this number.',
     'Report the number that kernel.begin_observation returned.'),
    ('KN111', 'misuse', 'wrong_isolation',
     'The transaction is not READ COMMITTED.',
     'Call in a READ COMMITTED transaction: an older snapshot does not see what others committed.'),
    ('KN112', 'misuse', 'read_only',
     'The transaction is read-only.',
     'Call in a read-write transaction, on the primary.'),
    ('KN113', 'misuse', 'not_yet_committed',
     'The lease was granted in this same transaction.',
     'Commit the claim, then ask for its content.'),
    ('KN114', 'misuse', 'verdict_contradicts_exit_code',
     'The verdict is accepted, but the exit code is not 0.',
     'Accept only what the acceptance command passed.'),
    ('KN115', 'misuse', 'not_a_member',
     'The role is not a direct, inheriting member of the group that the duty needs.',
     'Grant the group to the role, then enrol it.'),
    ('KN116', 'misuse', 'unknown_operation',
     'The class has no such operation.',
     'Take the key from kernel.begin_operation or audit.operations.'),
    ('KN901', 'misuse', 'move_refused',
     'A change of a ledger row that no kernel function makes.',
     'Use the kernel''s functions; they are the only write path.'),
    ('KN902', 'misuse', 'append_only',
     'Rows of this table are never changed or removed.',
     'Leave them; what was wrong is put right by a later row.'),
    ('KN903', 'misuse', 'frozen_column',
     'A column that is fixed once written.',
     'Cancel the campaign and open another.'),
    ('55P03', 'retry', 'lock_not_available',
     'A row lock was not had within the kernel''s lock_timeout.',
     'Repeat the call with the same arguments.'),
    ('40P01', 'retry', 'deadlock_detected',
     'The server ended the call to break a deadlock.',
     'Repeat the call with the same arguments.'),
    ('57014', 'retry', 'query_canceled',
     'The call was cancelled, or ran into the session''s statement_timeout.',
     'Repeat the call with the same arguments.');

create trigger answer_10_not_by_hand
    after insert or update or delete on ledger.answer
    for each row
    when (
        current_user <> 'fencepost_owner'
        or session_user = 'fencepost_owner'
        or current_setting('role') <> 'none'
        or current_setting('session_replication_role') = 'replica'
    )
    execute function ledger.tg__not_by_hand();
create trigger answer_20_no_truncate
    before truncate on ledger.answer
    for each statement execute function ledger.tg__not_by_hand();
alter table ledger.answer enable always trigger answer_10_not_by_hand;
alter table ledger.answer enable always trigger answer_20_no_truncate;

commit;
