import { z } from "zod";
import { type Budgets, budgetSql, inDollars, parseDollars } from "../budgets.ts";
import type { Deployment, Stage } from "./stage.ts";

const micros = z.coerce.number().nullable();
const row = z.object({ owner_day: micros, owner_month: micros, service_day: micros, service_month: micros });
type Row = z.infer<typeof row>;

const QUERY = `select owner_day_micros as owner_day, owner_month_micros as owner_month, service_day_micros as service_day,
  service_month_micros as service_month from keyframe_private.settings`;

/** Sets the monthly budgets that were asked for. One that is set stays. */
export const budgetsStage: Stage = {
  name: "Budgets",
  plan: async (deployment) => {
    const { cli, found } = deployment;
    const isThere = found.database?.schemas.includes("keyframe_private") ?? false;
    const [now] = isThere ? await cli.query("reading the budgets", QUERY, row, "read") : [];
    const kept = [
      ...describe("for each user", now?.owner_day, now?.owner_month),
      ...describe("for the service", now?.service_day, now?.service_month),
    ];
    const missing = missingOf(now, wantedOf(deployment, kept.length === 0));
    const added = [
      ...describe("for each user", undefined, missing.user),
      ...describe("for the service", undefined, missing.service),
    ];
    const says = [
      ...(kept.length > 0 ? [`kept: ${kept.join(", ")}`] : []),
      ...(added.length > 0 ? [`to set: ${added.join(", ")}`] : []),
    ].join("; ");
    if (added.length === 0) return { says: says || NONE };
    return {
      says,
      apply: async () => {
        await cli.query("setting the budgets", budgetSql(missing), z.unknown(), "write");
        return "set; docs/costs.md says how to change them";
      },
    };
  },
};

const NONE =
  "none: users can spend without a limit. Set them with --user-budget 10 --service-budget 500 (dollars a month), or see docs/costs.md";

const describe = (whose: string, day?: number | null, month?: number | null): string[] => [
  ...(typeof day === "number" ? [`${inDollars(day)} a day ${whose}`] : []),
  ...(typeof month === "number" ? [`${inDollars(month)} a month ${whose}`] : []),
];

/** What the command line says; without it a person is asked, if there is none yet. */
function wantedOf({ settings, ask }: Deployment, isNone: boolean): Budgets {
  const { user, service } = settings.budgets;
  if (!isNone || settings.dryRun || !ask || user !== undefined || service !== undefined) return settings.budgets;
  const askFor = (whose: string) => {
    for (;;) {
      const answer = ask(`Dollars a month ${whose} (empty: no limit):`)?.trim() ?? "";
      const micros = parseDollars(answer);
      if (answer === "" || micros !== undefined) return micros;
    }
  };
  return { user: askFor("for each user"), service: askFor("for all users together") };
}

const missingOf = (now: Row | undefined, { user, service }: Budgets): Budgets => ({
  user: (now?.owner_day ?? now?.owner_month ?? null) === null ? user : undefined,
  service: (now?.service_day ?? now?.service_month ?? null) === null ? service : undefined,
});
