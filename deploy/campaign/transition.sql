-- Deploy fencepost:campaign/transition to pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

create table ledger.transition (
    transition        text    not null,
    from_state        text    not null,
    to_state          text    not null,
    duties            text[]  not null,
    lease             text    not null,
    raises_generation boolean not null,

    constraint transition_pk primary key (transition, from_state, to_state),
    constraint transition_lease_is_known
        check (lease in ('takes', 'keeps', 'returns', 'revokes', 'none')),
    constraint transition_raises_with_every_grant_and_revocation
        check (raises_generation or lease not in ('takes', 'revokes'))
);

comment on table ledger.transition is
    'The legal moves of a campaign. A move that is not a row here cannot be made, nor logged.';
comment on column ledger.transition.from_state is '"none" where the campaign opens.';
comment on column ledger.transition.duties is
    'Who makes it: the session''s principal is in one of the groups fencepost_<duty>.';
comment on column ledger.transition.lease is
    'What becomes of the lease: its maker takes it, keeps it or returns it; it is revoked from '
    'whoever holds it; or there is none.';
comment on column ledger.transition.raises_generation is
    'The generation rises by one, so that whoever held the earlier one is told that it is stale.';

insert into ledger.transition
    (transition, from_state, to_state, duties, lease, raises_generation)
values
    ('open',               'none',      'ready',     '{sensor,admin}', 'none',    false),
    ('claim',              'ready',     'leased',    '{worker}',       'takes',   true),
    ('submit',             'leased',    'attempted', '{worker}',       'returns', false),
    ('fail',               'leased',    'ready',     '{worker}',       'returns', false),
    ('fail',               'leased',    'parked',    '{worker}',       'returns', false),
    ('release',            'leased',    'ready',     '{worker}',       'returns', false),
    ('release',            'leased',    'parked',    '{worker}',       'returns', false),
    ('lose',               'leased',    'ready',     '{reaper,admin}', 'revokes', true),
    ('lose',               'leased',    'parked',    '{reaper,admin}', 'revokes', true),
    ('claim_verification', 'attempted', 'verifying', '{verifier}',     'takes',   true),
    ('accept',             'verifying', 'promoting', '{verifier}',     'keeps',   false),
    ('accept',             'verifying', 'verified',  '{verifier}',     'returns', false),
    ('reject',             'verifying', 'ready',     '{verifier}',     'returns', false),
    ('reject',             'verifying', 'parked',    '{verifier}',     'returns', false),
    ('abstain',            'verifying', 'attempted', '{verifier}',     'returns', false),
    ('abstain',            'verifying', 'parked',    '{verifier}',     'returns', false),
    ('lose_verification',  'verifying', 'attempted', '{reaper,admin}', 'revokes', true),
    ('lose_verification',  'verifying', 'parked',    '{reaper,admin}', 'revokes', true),
    ('claim_promotion',    'accepted',  'promoting', '{verifier}',     'takes',   true),
    ('lose_promotion',     'promoting', 'accepted',  '{reaper,admin}', 'revokes', true),
    ('lose_promotion',     'promoting', 'parked',    '{reaper,admin}', 'revokes', true),
    ('promote',            'promoting', 'verified',  '{verifier}',     'returns', false),
    ('outdate',            'promoting', 'ready',     '{verifier}',     'returns', false),
    ('outdate',            'promoting', 'parked',    '{verifier}',     'returns', false),
    ('confirm',            'verified',  'confirmed', '{sensor}',       'none',    false),
    ('contradict',         'verified',  'ready',     '{sensor}',       'none',    false),
    ('contradict',         'verified',  'parked',    '{sensor}',       'none',    false),
    ('lapse',              'ready',     'lapsed',    '{sensor}',       'none',    false),
    ('expire',             'ready',     'parked',    '{reaper}',       'none',    false),
    ('expire',             'attempted', 'parked',    '{reaper}',       'none',    false),
    ('expire',             'accepted',  'parked',    '{reaper}',       'none',    false),
    ('park',               'ready',     'parked',    '{admin}',        'none',    true),
    ('park',               'leased',    'parked',    '{admin}',        'revokes', true),
    ('park',               'attempted', 'parked',    '{admin}',        'none',    true),
    ('park',               'verifying', 'parked',    '{admin}',        'revokes', true),
    ('park',               'accepted',  'parked',    '{admin}',        'none',    true),
    ('park',               'promoting', 'parked',    '{admin}',        'revokes', true),
    ('park',               'verified',  'parked',    '{admin}',        'none',    true),
    ('redrive',            'parked',    'ready',     '{admin}',        'none',    true),
    ('redrive',            'parked',    'attempted', '{admin}',        'none',    true),
    ('redrive',            'parked',    'accepted',  '{admin}',        'none',    true),
    ('redrive',            'parked',    'verified',  '{admin}',        'none',    true),
    ('cancel',             'ready',     'cancelled', '{admin}',        'none',    true),
    ('cancel',             'leased',    'cancelled', '{admin}',        'revokes', true),
    ('cancel',             'attempted', 'cancelled', '{admin}',        'none',    true),
    ('cancel',             'verifying', 'cancelled', '{admin}',        'revokes', true),
    ('cancel',             'accepted',  'cancelled', '{admin}',        'none',    true),
    ('cancel',             'promoting', 'cancelled', '{admin}',        'revokes', true),
    ('cancel',             'verified',  'cancelled', '{admin}',        'none',    true),
    ('cancel',             'parked',    'cancelled', '{admin}',        'none',    true);

create trigger transition_10_append_only
    before insert or update or delete on ledger.transition
    for each row execute function ledger.tg__append_only();
create trigger transition_20_no_truncate
    before truncate on ledger.transition
    for each statement execute function ledger.tg__append_only();
alter table ledger.transition enable always trigger transition_10_append_only;
alter table ledger.transition enable always trigger transition_20_no_truncate;

commit;
