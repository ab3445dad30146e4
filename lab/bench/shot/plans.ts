import type { Figures, Table } from "../benchmark.ts";

/** A plan's monthly quotas, and dollars for more; without `more`, there is no more. lab/aims.md names the sources. */
type Plan = {
  name: string;
  usd: number;
  included: { invocations: number; egressGb: number; storageGb: number; databaseGb: number };
  more: { millionInvocations: number; egressGb: number; storageGb: number; databaseGb: number } | null;
  /** A process that does the work of both worker functions; `usdPerGb`: of what it sends into Storage. */
  container?: { usd: number; usdPerGb: number };
};

const PRO = {
  usd: 25,
  included: { invocations: 2_000_000, egressGb: 250, storageGb: 100, databaseGb: 8 },
  more: { millionInvocations: 2, egressGb: 0.09, storageGb: 0.021, databaseGb: 0.125 },
};
const PLANS: Plan[] = [
  { name: "Free", usd: 0, included: { invocations: 500_000, egressGb: 5, storageGb: 1, databaseGb: 0.5 }, more: null },
  { name: "Pro", ...PRO },
  { name: "Pro and one worker container", ...PRO, container: { usd: 6, usdPerGb: 0.02 } },
];

/** Files as the default models make them; the simulator's are smaller. */
const IMAGE_GB = 0.002;
const VIDEO_GB = 0.005;
const STORED_GB = 2 * IMAGE_GB + VIDEO_GB;
/** The provider reads the first frame twice and the last one once; a person looks at each file once. */
const EGRESS_GB = 3 * IMAGE_GB + STORED_GB;
const DAYS = 30;
/** Half of the two that Micro shares with others. */
const BUSY_CORES = 1;
/** Shots a day in the row that prices what a plan does not include. */
const MANY = 1_000;

const round = (value: number) => Math.round(value).toLocaleString("en-US");

/** The capacity of each plan, and the needs of one shot. */
export function shotTables({ api, kicks, callbacks, deliveries, usd, ...cost }: Figures): [plans: Table, shot: Table] {
  const invocations = api + kicks + callbacks;
  const databaseGb = (3 * cost.predictionBytes) / 1e9;
  // All calls but the four that create and start read a status.
  const postgresMs = 3 * cost.frameMs + (api - 4) * cost.statusMs + deliveries * cost.eventMs;
  const carried = PLANS.map((plan) => {
    const called = plan.container ? api + callbacks : invocations;
    const { included } = plan;
    return {
      plan,
      called,
      calls: included.invocations / called / DAYS,
      egress: included.egressGb / EGRESS_GB / DAYS,
      usd: plan.usd + (plan.container?.usd ?? 0),
    };
  });
  const row = (name: string, cell: (one: (typeof carried)[number]) => number | string | null) => ({
    name,
    cells: carried.map(cell),
  });
  const shots = ({ calls, egress }: (typeof carried)[number]) => Math.min(calls, egress);
  return [
    {
      caption: "computed",
      columns: PLANS.map(({ name }) => name),
      rows: [
        row("**shots a day**", shots),
        row("used up first", ({ calls, egress }) => (calls < egress ? "function invocations" : "egress")),
        row("**$ a month**", ({ usd }) => usd),
        row("the provider's bill for them, $ a month", (one) => shots(one) * DAYS * usd),
        row("shots a day: function invocations", ({ calls }) => calls),
        row("shots a day: egress", ({ egress }) => egress),
        row("shots a day: Postgres' two cores half busy", () => (BUSY_CORES * 86_400_000) / postgresMs),
        row("shots kept: Storage", ({ plan }) => plan.included.storageGb / STORED_GB),
        row("shots kept: database", ({ plan }) => plan.included.databaseGb / databaseGb),
        row(
          `$ in the first month with ${round(MANY)} shots a day; the provider's: ${round(MANY * DAYS * usd)}`,
          (one) => (one.plan.more ? one.usd + priceOfMore(one.plan, one.called, databaseGb) : null),
        ),
      ],
    },
    {
      caption: "one shot",
      columns: ["", "how"],
      rows: [
        {
          name: "calls of functions",
          cells: [invocations, `measured: ${api} of api, ${callbacks} callbacks, ${kicks} kicks`],
        },
        {
          name: "Postgres' processor time, ms",
          cells: [postgresMs, "computed from what frames, reads and deliveries took"],
        },
        {
          name: "in the database, kB",
          cells: [databaseGb * 1e6, "measured: three predictions, each with an event and three deliveries"],
        },
        { name: "in Storage, MB", cells: [STORED_GB * 1000, "assumed: images of 2 MB, a video of 5 MB"] },
        {
          name: "egress, MB",
          cells: [EGRESS_GB * 1000, "computed: the provider reads three images, a person each file once"],
        },
        { name: "the provider's bill, $", cells: [usd, "measured, by the prices of the default models"] },
      ],
    },
  ];
}

/** The cost of a month with many shots, beyond the plan's quotas. */
function priceOfMore({ included, more, container }: Plan, called: number, databaseGb: number): number {
  if (!more) throw new Error("The plan has no more.");
  const shots = MANY * DAYS;
  const over = (used: number, free: number) => Math.max(0, used - free);
  return (
    Math.ceil(over(shots * called, included.invocations) / 1e6) * more.millionInvocations + // by whole millions
    over(shots * EGRESS_GB, included.egressGb) * more.egressGb +
    over(shots * STORED_GB, included.storageGb) * more.storageGb +
    over(shots * databaseGb, included.databaseGb) * more.databaseGb +
    shots * STORED_GB * (container?.usdPerGb ?? 0)
  );
}
