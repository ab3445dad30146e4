import { z } from "zod";
import { type Budgets, budgetSql, inDollars, parseDollars } from "../budgets.ts";
import type { Deployment, Stage } from "./stage.ts";

const micros = z.coerce.number().nullable();
const row = z.object({ owner_day: micros, owner_month: micros, service_day: micros, service_month: micros });

const QUERY = `select owner_day_micros as owner_day, owner_month_micros as owner_month, service_day_micros as service_day,
  service_month_micros as service_month from keyframe_private.settings`;

const NONE =
  "none: users can spend without a limit. Set them with --user-budget 10 --service-budget 500 (dollars a month), or see docs/costs.md";

/** Sets the requested monthly budgets. Existing ones are kept. */
export const budgetsStage: Stage = {
  name: "Budgets",
  plan: async (deployment) => {
    const { cli, found } = deployment;
    const [now] = found.isInstalled ? await cli.query("reading the budgets", QUERY, row, "read") : [];
    const userHas = [say(now?.owner_day, "a day for each user"), say(now?.owner_month, "a month for each user")].flat();
    const serviceHas = [
      say(now?.service_day, "a day for the service"),
      say(now?.service_month, "a month for the service"),
    ].flat();
    const kept = [...userHas, ...serviceHas];
    const requested = requestedBudgets(deployment, kept.length === 0);
    const missing: Budgets = {
      user: userHas.length === 0 ? requested.user : undefined,
      service: serviceHas.length === 0 ? requested.service : undefined,
    };
    const added = [say(missing.user, "a month for each user"), say(missing.service, "a month for the service")].flat();
    const says = [
      ...(kept.length > 0 ? [`kept: ${kept.join(", ")}`] : []),
      ...(added.length > 0 ? [`to set: ${added.join(", ")}`] : []),
    ].join("; ");
    if (added.length === 0) return { says: says || NONE };
    return { says, apply: () => cli.query("setting the budgets", budgetSql(missing), z.unknown(), "write") };
  },
};

const say = (micros: number | null | undefined, of: string): string[] =>
  typeof micros === "number" ? [`${inDollars(micros)} ${of}`] : [];

/** The budgets of the command line; without them the user is asked, if there is none yet. */
function requestedBudgets({ settings, ask }: Deployment, isNone: boolean): Budgets {
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
