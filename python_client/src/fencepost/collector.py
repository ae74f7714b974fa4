# Made of async_collector.py by tools/generate-sync: change that, and run it again.
"""What a collector may ask of the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields

from . import calls
from .records import Receipt
from .role import Role
from .server_log import Denial


class Collector(Role):
    """Brings what the server itself denied from its log into the ledger.

    The connection is the caller's and must be idle: every method makes one short transaction of
    its own. A collector may be stopped and started at any time, and several may run at once.

    :param connection: logged in as a principal that is a member of ``fencepost_collector``.
    """

    def is_collector(self) -> bool:
        """Return whether the principal may call ``kernel.report_denial``."""
        found = calls.statement(
            self._connection,
            """
            select coalesce(
                pg_catalog.has_function_privilege(
                    pg_catalog.to_regproc('kernel.report_denial'), 'execute'
                ),
                false
            ) as is_collector
            """,
            {},
        )
        return bool(found[0]["is_collector"])

    def database(self) -> str:
        """Return the database's name as the server's log has it, whatever a pooler calls it."""
        found = calls.statement(
            self._connection, "select pg_catalog.current_database() as name", {}
        )
        return str(found[0]["name"])

    def report_denials(self, denials: Sequence[Denial]) -> list[Receipt]:
        """Record what was denied: all of these, or none where the call fails.

        Calls ``kernel.report_denial`` for each, in one transaction. To report again what was
        reported is harmless: it is a duplicate.

        :return: a receipt for each; its ``note`` says why nothing was recorded.
        :raises Forbidden: the principal is no collector.
        """
        columns: dict[str, list[object]] = {field.name: [] for field in fields(Denial)}
        for denial in denials:
            for name, value in asdict(denial).items():
                columns[name].append(value)
        found = calls.rows(
            self._connection,
            """
            select receipt.*
            from unnest(
                %(session_id)s::text[], %(line_no)s::bigint[], %(denied_at)s::timestamptz[],
                %(role)s::text[], %(sqlstate)s::text[], %(message)s::text[], %(command)s::text[],
                %(application)s::text[], %(raised_in)s::text[]
            ) with ordinality as d (
                session_id, line_no, denied_at, role, sqlstate, message, command, application,
                raised_in, ordinal
            )
            cross join lateral kernel.report_denial(
                p_session_id  => d.session_id,
                p_line_no     => d.line_no,
                p_denied_at   => d.denied_at,
                p_role        => d.role,
                p_sqlstate    => d.sqlstate,
                p_message     => d.message,
                p_command     => d.command,
                p_application => d.application,
                p_raised_in   => d.raised_in
            ) as receipt
            order by d.ordinal
            """,
            dict(columns),
        )
        return [calls.record(Receipt, row) for row in found]
