import type postgres from "postgres";
import { pause } from "../../shared/platform/retry.ts";
import { waitUntil } from "../bench/measure.ts";
import { HEAVY_USER } from "./heavy-user.ts";
import type { Scenario } from "./scenario.ts";
import {
  addOwners,
  createProjects,
  holdAll,
  holdOpen,
  list,
  OTHER_MODEL,
  sendToSixHundred,
  startBadFrames,
  startFrames,
  withSetting,
} from "./scenario-actions.ts";
import { STANDING_PROVIDER } from "./standing-provider.ts";
import { readProblems, retryUntilDone } from "./world.ts";

/** How much later 95 of 100 frames of others may end. */
const FRAME_LATER_MS = 1_000;
/** The same of events, when others' slow endpoints are at the same host. */
const SHARED_HOST_LATER_MS = 3_000;
/** Health answers within a second on a quiet machine. */
const ANSWER_MS = 1_500;
/** The time from which health names who has locked a table. */
const LOCKED_FOR_MS = 300;

/** More than the Data API has connections here (20), but not all at once: the work itself would delay the others. */
const FRAMES_OF_HELD = 24;
const HELD_EVERY_MS = 50;
/** The time by which every frame must have ended: later than a lease and a sweep. */
const END_MS = 150_000;

export const SCENARIOS: Record<string, Scenario> = {
  slow_owners: {
    sentence:
      "Send events to 100 accounts with 20 endpoints each that answer after 14 s: to one account after another, then to all at once",
    open: async (world) => async (over) => {
      const owners = await addOwners(world, 100, 20, "takes_fourteen_seconds");
      for (const owner of owners) {
        if (over.aborted) break;
        await createProjects(world, [owner], 2);
        await pause(100);
      }
      await createProjects(world, owners, 2);
      return [];
    },
  },
  slow_host: {
    sentence: "Send events twice to 600 accounts with one endpoint each, all at a host that answers after 14 s",
    lastsMs: 30_000,
    open: sendToSixHundred("takes_fourteen_seconds", 15_000, { host: "localhost" }),
  },
  quick_and_slow_in_turn: {
    sentence:
      "Send events to 600 accounts with one endpoint each, at the other users' host, that answers at once or after 14 s",
    lastsMs: 50_000,
    laterMs: SHARED_HOST_LATER_MS,
    open: sendToSixHundred("takes_fourteen_seconds_or_none", 8_000),
  },
  killed_deliver: {
    sentence:
      "Kill deliver every 10 s, and send events to 600 accounts with one endpoint each, at the other users' host, that answers after 14 s",
    lastsMs: 50_000,
    laterMs: SHARED_HOST_LATER_MS,
    open: sendToSixHundred("takes_fourteen_seconds", 10_000, {
      after: ({ stack }) => stack.children.get("keyframe-deliver")?.kill("SIGKILL"),
    }),
  },
  large_events: {
    sentence: "Make 2,000 deliveries of 16 kB due at once, to 5 accounts with 20 endpoints each",
    open: async (world) => async () => {
      const owners = await addOwners(world, 5, 20, "well");
      await world.sql`
        insert into keyframe.projects (owner_id, title, text_prompt)
        select owner, 'Large', repeat('😀', 4000) from unnest(${list(owners)}::text::uuid[]) owner, generate_series(1, 20)`;
      return [];
    },
  },
  crowd: {
    sentence: "Make 40,000 deliveries due at once, to 1,000 accounts with 4 endpoints each",
    laterMs: 2_000, // health may call them late: on a slow machine the last ones wait for over thirty seconds
    open: async (world) => {
      const { sql } = world;
      await createProjects(world, await addOwners(world, 1_000, 4, "well"), 10);
      await sql`update keyframe.webhook_deliveries set next_attempt_at = now() + interval '1 day' where status = 'pending'`;
      // Claims must first schedule the work that each of them has. Until then new endpoints at this host, as the other users', wait for long.
      const claimable = () =>
        sql`select from keyframe_private.work where queue = 'deliver' and state <> 'scheduled' limit 1`;
      await waitUntil(async () => (await claimable()).count === 0, {
        what: "the work of the crowd is scheduled",
        everyMs: 200,
      });
      return async () => {
        await sql`update keyframe.webhook_deliveries set next_attempt_at = now() where status = 'pending'`;
        return [];
      };
    },
  },
  open_transactions: {
    sentence:
      "Leave transactions open that create a project, change endpoints, deliveries and settings, or delete an account",
    lastsMs: 30_000, // health names who has held rows for twenty seconds
    health: /^A transaction of .* has been open for .*pg_terminate_backend/,
    open: async (world) => async (over) => {
      const owners = await addOwners(world, 2, 2, "well");
      const [first = "", second = ""] = owners;
      await createProjects(world, owners, 5);
      const open = (statement: (sql: postgres.Sql) => Promise<unknown>) =>
        holdOpen(world, (sql) => Promise.all([statement(sql), pause(60_000, over)]));
      await Promise.all([
        open((sql) => sql`insert into keyframe.projects (owner_id, title, text_prompt) values (${first}, 'Open', 'p')`),
        open((sql) => sql`update keyframe.webhook_endpoints set description = 'open' where owner_id = ${first}`),
        open((sql) => sql`update keyframe.webhook_deliveries set created_at = created_at where owner_id = ${first}`),
        open((sql) => sql`update keyframe_private.settings set max_failures = max_failures where only_row`),
        open((sql) => sql`delete from auth.users where id = ${second}`),
      ]);
      return [];
    },
  },
  held_rows: {
    sentence: "Lock every row of an account, every model and the settings for 10 s, twice",
    startsFrames: true,
    lastsMs: 30_000,
    laterMs: 4_500,
    open: async (world) => async () => {
      const { sql } = world;
      const [owner = ""] = await addOwners(world, 1, 1, "well");
      const [project = ""] = await createProjects(world, [owner], 1);
      await withSetting(world, "max_active_per_owner", 100, async () => {
        for (let hold = 0; hold < 2; hold++) {
          for (let frame = 0; frame < FRAMES_OF_HELD; frame++) {
            await startFrames(world, [project]);
            await pause(HELD_EVERY_MS); // in the end some are being submitted, some run, and some are copied
          }
          await retryUntilDone(() => holdOpen(world, (open) => holdAll(open, owner)));
        }
      });
      const end = performance.now() + END_MS;
      const active = () => sql`select from keyframe.predictions where project_id = ${project} and completed_at is null`;
      while (performance.now() < end && (await active()).count > 0) await pause(200);
      const wrong = await sql<{ broken: string }[]>`
        select format('prediction %s is %s (%s) and has %s provider runs', p.id, p.status, p.error_code, count(r.provider_prediction_id)) as broken
        from keyframe.predictions p left join keyframe_private.provider_submits r on r.prediction_id = p.id
        where p.project_id = ${project} group by p.id having p.status <> 'succeeded' or count(r.provider_prediction_id) <> 1`;
      return wrong.map(({ broken }) => broken);
    },
  },
  hanging_model: {
    sentence: "Restart generate, then make the creates of 650 accounts hang at one model",
    startsFrames: true,
    lastsMs: 30_000, // generate restarts in this time
    laterMs: FRAME_LATER_MS,
    health: new RegExp(`^Much of what generate has leased waits for something slow: \\d+ of \\d+ for ${OTHER_MODEL}`),
    open: startBadFrames("[[fault:timeout=99]]", 50, 20),
  },
  slow_outputs: {
    sentence: "Restart generate, then make one model's outputs take 80 s for 100 accounts",
    startsFrames: true,
    lastsMs: 30_000, // generate restarts in this time
    laterMs: FRAME_LATER_MS,
    open: startBadFrames("[[fault:output_slow=80000]]", 9, 3),
  },
  raising_row: {
    sentence: "Add a trigger of an app that raises at every submit of one account",
    startsFrames: true,
    laterMs: FRAME_LATER_MS,
    health: /^The database refuses \d rows? \(submit: .*P0001/,
    open: async (world) => async (over) => {
      const { sql } = world;
      const [owner = ""] = await addOwners(world, 1, 0, "well");
      await sql.unsafe(`
        create function public.refuse_submit() returns trigger language plpgsql as $$ begin raise 'An app refuses it.'; end $$;
        create trigger _050_refuse before update on keyframe.predictions for each row
          when (new.owner_id = '${owner}' and new.attempt > old.attempt) execute function public.refuse_submit()`);
      try {
        const [project = ""] = await createProjects(world, [owner], 1);
        await startFrames(world, [project], { each: 4 });
        await pause(60_000, over);
        const refused = await sql`
          select from keyframe_private.work where owner_id = ${owner} and kind = 'submit' and last_error = 'P0001'`;
        return refused.count === 4 ? [] : [`${refused.count} of 4 predictions wait to be tried again`];
      } finally {
        await sql.unsafe("drop trigger _050_refuse on keyframe.predictions; drop function public.refuse_submit()");
      }
    },
  },
  undeletable_rows: {
    sentence:
      "Add an app's foreign key to an event past its retention, and a trigger that raises when a cost is merged",
    health: /^The database refuses \d rows \(job: 2\b/,
    open: async (world) => async (over) => {
      const { sql } = world;
      const [owner = ""] = await addOwners(world, 1, 0, "well");
      await sql`
        insert into keyframe.webhook_events (type, owner_id, payload, created_at)
        select 'webhook.test', ${owner}, '{}', now() - interval '2 years' from generate_series(1, 500)`;
      await sql`
        insert into keyframe_private.cost_changes (owner_id, day, step, model, settled_micros)
        select ${owner}, current_date, 'video', 'm', n from generate_series(1, 500) n`;
      await sql.unsafe(`
        create table public.app_log (event_id uuid references keyframe.webhook_events);
        insert into public.app_log select id from keyframe.webhook_events where owner_id = '${owner}' limit 1;
        create function public.refuse_merge() returns trigger language plpgsql as $$ begin raise 'An app keeps it.'; end $$;
        create trigger refuse before delete on keyframe_private.cost_changes for each row
          when (old.owner_id = '${owner}' and old.settled_micros = 7) execute function public.refuse_merge()`);
      try {
        // This job runs every minute, a scenario for a third of one.
        await sql`select keyframe_private.prune()`;
        await pause(60_000, over);
        const [left] = await sql<{ events: number; costs: number }[]>`
          select (select count(*)::int from keyframe.webhook_events where owner_id = ${owner}) as events,
            (select count(*)::int from keyframe_private.cost_changes where owner_id = ${owner}) as costs`;
        return left?.events === 1 && left.costs === 1
          ? []
          : [`${left?.events} events and ${left?.costs} costs are left of 1 and 1`];
      } finally {
        await sql.unsafe(`
          drop trigger refuse on keyframe_private.cost_changes; drop function public.refuse_merge(); drop table public.app_log;
          delete from keyframe_private.skipped_rows where true;
          delete from keyframe_private.cost_changes where owner_id = '${owner}';
          delete from keyframe_private.cost_sums where owner_id = '${owner}' or model = 'm'`);
      }
    },
  },
  locked_tables: {
    sentence: "Lock each table of Keyframe, pg_net, pg_cron, the Vault and the users, one after the other",
    lastsMs: 30_000,
    // Whoever writes to the table waits meanwhile.
    laterMs: 3_000,
    open: async (world) => async (over) => {
      const tables = await world.sql<{ name: string }[]>`
        select c.oid::regclass::text as name from pg_class c
        where c.relkind in ('r', 'p') and (c.relnamespace::regnamespace::text in ('keyframe', 'keyframe_private', 'net', 'cron')
          or c.oid in ('auth.users'::regclass, 'vault.secrets'::regclass, 'storage.objects'::regclass)) order by random()`;
      const wrong: string[] = [];
      await holdOpen(world, async (open) => {
        await pause(LOCKED_FOR_MS); // then each lock counts at once
        for (const { name } of tables) {
          if (over.aborted) throw new Error("There was no time for each table.");
          await open.unsafe(`savepoint before; lock table ${name}`);
          const began = performance.now();
          const problems = await readProblems(world);
          const ms = Math.round(performance.now() - began);
          await open`rollback to before`;
          const isNamed = problems.some((problem) =>
            /^A transaction of .* has locked (.*)/.exec(problem)?.[1]?.startsWith(name),
          );
          if (!isNamed) wrong.push(`with ${name} locked, health says ${JSON.stringify(problems)}`);
          if (ms > ANSWER_MS) wrong.push(`with ${name} locked, health answers after ${ms} ms`);
        }
      });
      return wrong;
    },
  },
  ...STANDING_PROVIDER,
  ...HEAVY_USER,
};

/** The names for `--scenarios`. */
export const SCENARIO_NAMES: readonly string[] = Object.keys(SCENARIOS);
