-- Revert fencepost_superuser:foundation/schema from pg

begin;
set local search_path = pg_catalog, pg_temp;

drop function fencepost_superuser.restore(text);
drop function fencepost_superuser.give(text, text, text, aclitem [], text);
drop function fencepost_superuser.take(text, text, text, aclitem []);
drop table fencepost_superuser.restoration;
drop schema fencepost_superuser;

commit;
