-- Revert fencepost:watch/explain from pg

begin;
set local role fencepost_owner;

drop function kernel.explain(text, bigint);

commit;
