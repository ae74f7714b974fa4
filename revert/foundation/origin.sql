-- Revert fencepost:foundation/origin from pg

begin;
set local search_path = pg_catalog, pg_temp;
set local role fencepost_owner;

select o.public_had_temporary from ledger.origin as o \gset

drop table ledger.origin;
reset role;

-- Only what the deployment took is given back.
select format('grant temporary on database %I to public', current_database())
where :'public_had_temporary'::boolean \gexec

commit;
