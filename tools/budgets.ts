/** Monthly budgets in micro-dollars; undefined: none is requested. */
export type Budgets = { user: number | undefined; service: number | undefined };

export const BUDGET_OPTIONS = { "user-budget": { type: "string" }, "service-budget": { type: "string" } } as const;

export const BUDGET_HELP = `--user-budget USD      what each user may spend in a calendar month, if no budget for users is set
  --service-budget USD   what all users together may spend, if no budget for the service is set`;

type Given = { "user-budget"?: string | undefined; "service-budget"?: string | undefined };

/** Reads the options. Throws one line that names the wrong one. */
export function readBudgets(given: Given): Budgets {
  const read = (option: keyof Given) => {
    const text = given[option];
    if (text === undefined) return undefined;
    const micros = parseDollars(text);
    if (micros === undefined) throw new Error(`--${option} must be dollars a month, such as 10 or 0.50.`);
    return micros;
  };
  return { user: read("user-budget"), service: read("service-budget") };
}

/** Micro-dollars, or undefined unless the text is an amount in dollars below a billion. */
export function parseDollars(text: string): number | undefined {
  return /^\d{1,9}(\.\d{1,2})?$/.test(text) ? Math.round(Number(text) * 1_000_000) : undefined;
}

export const inDollars = (micros: number): string => `$${(micros / 1_000_000).toFixed(2).replace(/\.00$/, "")}`;

/** Sets each requested budget, unless an administrator has set one for a day or a month. */
export const budgetSql = ({ user, service }: Budgets): string =>
  [
    ["owner", user],
    ["service", service],
  ]
    .filter(([, micros]) => micros !== undefined)
    .map(
      ([of, micros]) =>
        `update keyframe_private.settings set ${of}_month_micros = ${micros} where ${of}_month_micros is null and ${of}_day_micros is null;`,
    )
    .join("\n");
