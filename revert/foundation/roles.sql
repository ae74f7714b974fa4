-- Revert fencepost:foundation/roles from pg
--
-- Nothing: the roles belong to the cluster, and another database may use them.

begin;
commit;
