import { z } from "zod";
import { type CallDatabase, DatabaseError } from "../shared/platform/call-database.ts";
import { describeError, type Log } from "../shared/platform/log.ts";
import { pause, retryDelay } from "../shared/platform/retry.ts";
import { SCHEMA_VERSION } from "../shared/platform/schema-version.ts";

/** A connection to the database, and the variable that it comes from. */
export type Connection = { setting: "SUPABASE_DB_URL" | "SUPABASE_URL"; call: CallDatabase };

/** A wrong setting, which waiting does not fix. The message names it and says what to do. */
export class WrongSetting extends Error {}

/** A failure that waiting may end: the database may be down. */
class Unavailable extends Error {
  constructor(
    readonly setting: Connection["setting"],
    reason: string,
  ) {
    super(reason);
  }
}

const BACKOFF = { minDelayMs: 500, maxDelayMs: 10_000 };
/** How often a running process checks again: a key may have been revoked, or the machine's clock set. */
const RECHECK_MS = 60_000;
/** A restarting gateway refuses for a moment, so only this many refusals in a row, this far apart, end a running process. */
const MAX_REFUSALS = 3;
const RECHECK_REFUSED_MS = 20_000;
/** A smaller change of the clock is not logged. */
const CLOCK_DIFFERS_MS = 2_000;

const description = z.object({
  id: z.string(),
  now: z.string().pipe(z.coerce.date()),
  address: z.string().nullable(),
  version: z.string().nullable(),
  outdated: z.enum(["process", "database"]).nullable(),
});
type Description = z.infer<typeof description>;

/**
 * Checks what a worker process needs before it claims work: each connection accepts its key or password, all lead
 * to the same database, and that database belongs to this project and supports this version. `now` is the database's time, by
 * which the workers sign: the machine's clock may be wrong.
 */
export function createSettingsCheck(
  connections: readonly Connection[],
  address: string,
  log: Log,
  { wait = pause, machineNow = Date.now } = {},
) {
  let aheadMs = 0;
  let loggedAheadMs = 0;

  function setClock(sentAt: number, database: Date): void {
    aheadMs = (sentAt + machineNow()) / 2 - database.getTime();
    if (Math.abs(aheadMs - loggedAheadMs) < CLOCK_DIFFERS_MS) return;
    loggedAheadMs = aheadMs;
    log.warn("clock_differs", { aheadSeconds: Math.round(aheadMs / 1_000) });
  }

  async function describe({ setting, call }: Connection): Promise<Description> {
    try {
      const sentAt = machineNow();
      const answer = description.parse(await call("describe_database", { process_version: SCHEMA_VERSION }));
      setClock(sentAt, answer.now);
      requireVersion(answer);
      return answer;
    } catch (error) {
      if (error instanceof WrongSetting) throw error;
      const wrong = error instanceof DatabaseError ? explainRefusal(error) : null;
      throw wrong === null ? new Unavailable(setting, explainUnavailable(error)) : new WrongSetting(wrong);
    }
  }

  async function check(): Promise<void> {
    const ask = () => Promise.all(connections.map(describe));
    const sameDatabase = (answers: Description[]) => new Set(answers.map(({ id }) => id)).size <= 1;
    const first = await ask();
    // Twice, because the server may restart between two answers.
    const answers = sameDatabase(first) ? first : await ask();
    if (!sameDatabase(answers))
      throw new WrongSetting(
        "SUPABASE_DB_URL and SUPABASE_URL belong to different projects. Copy both, and the secret key, from one project: outputs are stored where SUPABASE_URL is.",
      );
    for (const answer of answers) requireAddress(answer, address);
  }

  return {
    now: (): number => machineNow() - aheadMs,

    /** Waits while something is down. False when the signal aborts first. Throws WrongSetting. */
    async untilPassed(signal: AbortSignal): Promise<boolean> {
      for (let failures = 1; !signal.aborted; failures += 1) {
        try {
          await check();
          return true;
        } catch (error) {
          if (!(error instanceof Unavailable)) throw error;
          log.warn("worker_waits", { setting: error.setting, reason: error.message });
        }
        await wait(retryDelay(failures, BACKOFF), signal);
      }
      return false;
    },

    /** Checks again regularly until the signal aborts. Throws WrongSetting after three refusals in a row. The workers log what is down. */
    async watch(signal: AbortSignal): Promise<void> {
      for (let refusals = 0; ; ) {
        await wait(refusals === 0 ? RECHECK_MS : RECHECK_REFUSED_MS, signal);
        if (signal.aborted) return;
        try {
          await check();
          refusals = 0;
        } catch (error) {
          if (error instanceof Unavailable) {
            refusals = 0;
            continue;
          }
          refusals += 1;
          if (!(error instanceof WrongSetting) || refusals === MAX_REFUSALS) throw error;
          log.warn("setting_refused", { reason: error.message });
        }
      }
    },
  };
}

function requireVersion({ version, outdated }: Description): void {
  if (outdated === "database")
    throw new WrongSetting(
      `schema_outdated: the database has ${version ?? "no version"}, this process is ${SCHEMA_VERSION}. Apply the migrations of ${SCHEMA_VERSION} (supabase db push, or npm run deploy), then start it again.`,
    );
  if (outdated === "process")
    throw new WrongSetting(
      `process_outdated: the database has ${version}, this process is ${SCHEMA_VERSION}. A database supports one version back. Run npm run worker in a checkout of ${version}.`,
    );
}

/** The database itself refuses each claim of another project's process (keyframe_private.record_heartbeat). */
function requireAddress({ address }: Description, ours: string): void {
  if (address === ours) return;
  const theirs =
    address === null
      ? "the database's Vault does not say for which project it works"
      : `the database belongs to another project: it works for ${address}`;
  throw new WrongSetting(
    `SUPABASE_URL is ${ours}, but ${theirs}. If it is a copy, or has moved, its pending work would run here too: see "Restore a backup" in docs/upgrade.md, then run in SQL: select keyframe_private.set_address('${ours}')`,
  );
}

/** Why Postgres refuses a connection, by SQLSTATE. */
const REFUSED_BY_POSTGRES = new Map([
  ["28P01", "Postgres refuses its user or password. At Supabase's pooler the user is <login>.<ref>."],
  ["28000", "Postgres does not allow its user to log in from here: check the role and pg_hba.conf."],
  ["3D000", "Postgres has no database of this name. At Supabase it is postgres."],
  ["42501", "Its user cannot act as service_role. Run in SQL: grant service_role to <login>."],
  ["22023", "Postgres has no role service_role. This is not a database of Supabase."],
]);

/** Temporary causes by SQLSTATE or the system's code: the process waits. */
const UNAVAILABLE = new Map([
  ["XX000", "Supabase's pooler gives this answer to a user other than <login>.<ref>."],
  ["08P01", "The pooler refused. Postgres may be down, or the user, the password or the database name is wrong."],
  ["53300", "Postgres has no free connection."],
  ["57P03", "Postgres is starting."],
  ["ENOTFOUND", "The host does not exist. A paused project has none."],
]);

/** PostgREST's code for a token that is not valid yet. The platform makes one from the secret key, and its clocks may differ for a moment. */
const TOKEN_NOT_YET_VALID = "PGRST303";

/** What is wrong with a setting; null if the other side may just be down. */
function explainRefusal(error: DatabaseError): string | null {
  const { status, code } = error;
  if (error.isOutdated()) return error.message;
  if (status === null) {
    const why = REFUSED_BY_POSTGRES.get(code);
    return why === undefined ? null : `SUPABASE_DB_URL: ${why} (code ${code})`;
  }
  if (status === 404) return "SUPABASE_URL: the Data API answers 404. It must be https://<ref>.supabase.co.";
  if ((status !== 401 && status !== 403) || code === TOKEN_NOT_YET_VALID) return null;
  return `SUPABASE_SECRET_KEYS: its key "default" is not a secret key of the project at SUPABASE_URL. Copy one from Project Settings → API Keys. (status ${status})`;
}

function explainUnavailable(error: unknown): string {
  const hint =
    error instanceof DatabaseError ? (UNAVAILABLE.get(error.code) ?? UNAVAILABLE.get(String(error.cause))) : undefined;
  return `${describeError(error)}${hint === undefined ? "" : `. ${hint}`}`;
}
