type Value = string | number | boolean;

/** What a control of a model says about its own value and about other controls, as in GET /api/models and in a row of models. */
type ControlRules = {
  default?: Value | undefined;
  forces?: Record<string, Value> | undefined;
  forcesByValue?: Record<string, Record<string, Value>> | undefined;
};

/**
 * The values of a start as Postgres completes them: the requested ones, the defaults, and what other choices force. `used` lists the image
 * controls that are used. Postgres decides, and refuses a value that conflicts with a forced one. test/db/models/models.test.ts compares
 * both. This file imports nothing, because the dashboard loads it without the contract.
 */
export function completeValues(
  controls: Record<string, ControlRules>,
  requested: Record<string, Value>,
  used: string[],
): { values: Record<string, Value>; forced: Record<string, Value> } {
  const values = { ...requested };
  const forced: Record<string, Value> = {};
  // Requested values come before defaults. Within each group, a control that forces another comes first.
  const turnOf = ([name, { forces, forcesByValue }]: [string, ControlRules]) =>
    used.includes(name) ? 0 : (name in requested ? 1 : 3) + (forces || forcesByValue ? 0 : 1);
  for (const [name, rules] of Object.entries(controls).toSorted((one, other) => turnOf(one) - turnOf(other))) {
    const value = values[name] ?? rules.default;
    if (value !== undefined) values[name] = value;
    else if (!used.includes(name)) continue;
    Object.assign(forced, rules.forces, rules.forcesByValue?.[String(value)]);
    Object.assign(values, forced);
  }
  return { values, forced };
}
