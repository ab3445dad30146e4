import { z } from "zod";
import type { Blocker, Part, ServiceFigures } from "../../contract/service.ts";

/** Whether tables can be written now, according to keyframe.health. */
export const writes = z.enum(["ok", "read_only", "settings_missing", "locked"]);
/** What keyframe.health says, or how its call failed (`failed`). */
export type Writes = z.infer<typeof writes> | { failed: string };

/** This many calls at once leave few connections for others. */
const MANY_SLOW_CALLS = 5;
const LOCKED = "55P03";
const OUT_OF_TIME = "57014";
const NO_HOLDER =
  "No transaction was found that has it. Request the figures again; if it keeps happening, see pg_locks.";

/** Problems of the database: its settings, locks, failing rows, and long calls. */
export function databaseProblems(figures: ServiceFigures, answered: Writes): string[] {
  const { blockers, skipped, calls } = figures;
  return [
    ...(typeof answered === "string"
      ? []
      : [
          `GET /api/health fails, because its call of keyframe.health() does (${answered.failed}). "set role anon; select keyframe.health()" shows an error of the function or a lost grant; if it works, see the log of the Data API.`,
        ]),
    ...settingProblems(figures, answered),
    ...(blockers ?? []).map(blockerProblem),
    ...(answered === "locked" && !blockers?.length ? [`A write would wait for a lock. ${NO_HOLDER}`] : []),
    ...unreadProblems(figures),
    ...(skipped === null ? [] : skippedProblems(skipped)),
    ...(calls === null ? [] : callProblems(calls)),
  ];
}

function settingProblems({ settings, clockBackSeconds }: ServiceFigures, answered: Writes): string[] {
  const problems: string[] = [];
  if (answered === "read_only" || settings?.isReadOnly) {
    problems.push(
      "Sessions are read-only (default_transaction_read_only), as on Supabase when the disk is nearly full: jobs, kicks, sign-ins and uploads fail; calls of the Data API still write. Free disk space or enlarge the disk, then: begin read write; alter database <database> reset default_transaction_read_only; commit. If it was set for a role or in postgresql.conf (the source in pg_settings), reset it there.",
    );
  }
  if (answered === "settings_missing" || settings?.hasSettings === false) {
    problems.push(
      "The row of keyframe_private.settings is missing: nothing can be started. Add it: insert into keyframe_private.settings default values. It starts with spending stopped and without budgets: set the budgets, then spending_stopped = false.",
    );
  }
  const missing = settings?.missingSecrets ?? [];
  if (missing.length > 0) {
    problems.push(
      `The Vault lacks ${missing.join(" and ")}, or cannot decrypt it, as after a restore under another key: workers get no kicks. Deploy again, which fills the Vault, or delete the entry and create it again (docs/going-live.md).`,
    );
  }
  if (clockBackSeconds) {
    problems.push(
      `The database's clock was set back by ${Math.round(clockBackSeconds)} s: work scheduled by the earlier time waits until the clock reaches it. Check the time synchronisation of the database's host. To start it now, except retries of deliveries: update keyframe_private.work set due_at = now() where queue <> 'deliver' and state = 'scheduled' and due_at > now().`,
    );
  }
  return problems;
}

function blockerProblem({ pid, role, seconds, isIdle, blocks, tables, locksTables, waitsFor }: Blocker): string {
  const sessions = blocks === 1 ? "1 session waits for it" : `${blocks} sessions wait for it`;
  const waiting = blocks === 0 ? `work ${locksTables ? "there" : "on those rows"} waits` : sessions;
  if (pid === 0) {
    return `A prepared transaction keeps its locks: ${waiting}. Find its gid in pg_prepared_xacts, then end it with "commit prepared" or "rollback prepared".`;
  }
  const age = seconds === null ? "" : ` for ${Math.round(seconds)} s`;
  const open = `A transaction of ${role ?? "an unknown role"}${isIdle ? " (idle)" : ""} has been open${age}`;
  const end = `it with "select pg_terminate_backend(${pid})"`;
  if (waitsFor !== null) {
    const holder = waitsFor === 0 ? "a prepared transaction (pg_prepared_xacts)" : `process ${waitsFor}`;
    return `${open} and waits for ${holder}, to lock ${tables}: ${waiting}. End ${end} and try again later, or end ${holder}.`;
  }
  const holds = tables === null ? "" : locksTables ? ` and has locked ${tables}` : ` and has locked rows of ${tables}`;
  return `${open}${holds}: ${waiting}. Commit it, or end ${end}.`;
}

function unreadProblems({ unread, blockers }: ServiceFigures): string[] {
  const locked = unread.filter(({ code }) => code === LOCKED).map(({ part }) => part);
  const late = unread.filter(({ code }) => code === OUT_OF_TIME);
  const failed = unread.filter(({ code }) => code !== LOCKED && code !== OUT_OF_TIME);
  const named = (parts: typeof unread) => parts.map(({ part, reason }) => `${part} (${reason})`).join(", ");
  const problems: string[] = [];
  if (locked.length > 0) {
    const who = blockers?.length ? "A transaction named above has it." : NO_HOLDER;
    problems.push(`Not read because of a lock: ${locked.join(", ")}. ${who}`);
  }
  if (late.length > 0) {
    problems.push(
      `Not read in time: ${named(late)}. Postgres is slow: look at its processor, its disk and pg_stat_activity.`,
    );
  }
  if (failed.length > 0) {
    problems.push(`These figures cannot be read: ${named(failed)}. Fix what the error names.`);
  }
  return problems;
}

function skippedProblems({ count, kinds, worst }: Part<"skipped">): string[] {
  if (worst === null) return [];
  const { kind, subject, code, reason, failures } = worst;
  const each = Object.entries(kinds).map(([name, rows]) => `${name}: ${rows}`);
  const why =
    reason === null ? `${code}; the log of keyframe-generate has more` : `${reason.replace(/\.$/, "")} (${code})`;
  const tables = [
    ...(Object.keys(kinds).some((name) => name !== "job")
      ? [
          "select * from keyframe_private.work where queue <> 'deliver' and failures > 2 and last_error ~ '^[0-9A-Z]{5}$'",
        ]
      : []),
    ...("job" in kinds ? ["select * from keyframe_private.skipped_rows"] : []),
  ];
  return [
    `The database refuses ${count === 1 ? "1 row" : `${count} rows`} (${each.join(", ")}), such as ${kind} ${subject}, ${failures} times: ${why}. Change the trigger, the foreign key or the row that causes it. Keyframe retries automatically. All of them: ${tables.join("; ")}.`,
  ];
}

function callProblems({ slow, slowest, slowestSeconds, owners }: Part<"calls">): string[] {
  const problems = owners.map(
    ({ ownerId, calls, called, seconds }) =>
      `Owner ${ownerId} has ${calls} database calls at once that have taken ${Math.round(seconds)} s together${called === null ? "" : `, most of them ${called}`}: they use connections and processor time that other users need. If it continues, lower the limit for each owner (update keyframe_private.settings set max_calls_per_owner = …) or the rate of such requests (keyframe_private.rate_limits), or ban the account in Auth.`,
  );
  if (slow >= MANY_SLOW_CALLS) {
    problems.push(
      `${slow} database calls have run for over 2 s, the longest for ${Math.round(slowestSeconds ?? 0)} s, most of them ${slowest}: they use connections that other users need. application_name in pg_stat_activity has the owner of each. Lower that user's rate (keyframe_private.rate_limits), or the time limit of a call: alter role authenticated set statement_timeout = '5s'; notify pgrst, 'reload config'.`,
    );
  }
  return problems;
}
