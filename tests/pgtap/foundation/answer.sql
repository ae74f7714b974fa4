-- ledger.answer is the one catalogue of what a receipt can hold and of what is raised.
\ir ../_support/fixture.psql
select plan(10);

select results_eq(
    $$ select kind, array_agg(code order by code collate "C") from ledger.answer
       group by kind order by kind $$,
    $$ values
       ('misuse', array['KN101', 'KN102', 'KN103', 'KN104', 'KN105', 'KN106', 'KN107', 'KN108',
                        'KN109', 'KN110', 'KN111', 'KN112', 'KN113', 'KN114', 'KN115', 'KN116',
                        'KN901', 'KN902', 'KN903']),
       ('outcome', array['bundle_mismatch', 'expired', 'forbidden', 'illegal', 'limit',
                         'no_evidence', 'not_holder', 'ok', 'operation_open', 'paused', 'repeated',
                         'same_family', 'self_verdict', 'stale']),
       ('retry', array['40P01', '55P03', '57014']) $$,
    'ledger.answer lists fourteen outcomes, the SQLSTATEs of class KN, and three to repeat'
);
select is_empty(
    $$ select code from ledger.answer where meaning !~ '^[A-Z].*\.$' or remedy !~ '^[A-Z].*\.$' $$,
    'ledger.answer says in sentences what each means and what to do'
);
select is_empty(
    $$ select distinct m.match[1]
       from pg_proc as p
       cross join lateral regexp_matches(p.prosrc, '''(KN[0-9A-Z]{3})''', 'g') as m (match)
       where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
       except
       select code from ledger.answer $$,
    'ledger.answer lists every KN that a function raises'
);
select is_empty(
    $$ select a.code
       from ledger.answer as a
       where a.code like 'KN%'
         and not exists (
             select from pg_proc as p
             where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
               and p.prosrc like '%''' || a.code || '''%'
         ) $$,
    'ledger.answer lists no KN that no function raises'
);
select is_empty(
    $$ select a.code
       from ledger.answer as a
       where a.kind = 'outcome'
         and not exists (
             select from pg_proc as p
             where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
               and p.prosrc like '%''' || a.code || '''%'
         ) $$,
    'ledger.answer lists no outcome that no function answers with'
);
select is_empty(
    $$ select p.oid::regproc
       from pg_proc as p
       where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
         and (length(p.prosrc) - length(replace(p.prosrc, 'raise exception', ''))) / 15
             <> (length(p.prosrc) - length(replace(p.prosrc, 'errcode = ''KN', ''))) / 13 $$,
    'ledger.answer knows the SQLSTATE of every exception: none is raised without one'
);
select is_empty(
    $$ select p.oid::regproc
       from pg_proc as p
       where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
         and (select count(*) from regexp_matches(p.prosrc, 'raise exception', 'g'))
             <> (select count(*) from regexp_matches(p.prosrc, '\mhint +=', 'g')) $$,
    'ledger.answer is not alone: every exception gives a hint of its own'
);

-- What each function's COMMENT promises is in the catalogue, and is what its body can raise itself.
select is_empty(
    $$ select p.oid::regproc, m.match[1]
       from pg_proc as p
       cross join lateral regexp_matches(obj_description(p.oid, 'pg_proc'), '(KN[0-9]{3})', 'g')
           as m (match)
       where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
         and m.match[1] not in (select code from ledger.answer) $$,
    'ledger.answer lists every KN that a comment names'
);
select is_empty(
    $$ select p.oid::regproc, m.match[1]
       from pg_proc as p
       cross join lateral regexp_matches(p.prosrc, 'errcode = ''(KN[0-9]{3})''', 'g')
           as m (match)
       where p.pronamespace in ('kernel'::regnamespace, 'ledger'::regnamespace)
         and obj_description(p.oid, 'pg_proc') !~ m.match[1] $$,
    'ledger.answer''s codes are named in the comment of each function that raises one'
);

set local session authorization auditor_1;
select testing.raises(
    'select from ledger.answer', '42501', 'permission denied for schema ledger',
    'ledger.answer is private'
);

reset session authorization;
select finish();
rollback;
