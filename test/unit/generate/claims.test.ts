import { expect, test } from "vitest";
import { DatabaseError } from "../../../shared/platform/call-database.ts";
import { createClaim } from "../../../supabase/functions/keyframe-generate/tasks/claim.ts";

/** Claims with 64 free places; `errors` are what the first calls end with. Returns what each call asked for. */
async function claimAgainAndAgain(errors: Error[], calls: number): Promise<(number | string)[]> {
  const asked: (number | string)[] = [];
  const claim = createClaim(async (_called, args) => {
    asked.push(args.one_by_one ? `${args.max_rows} one by one` : Number(args.max_rows));
    const error = errors.shift();
    if (error) throw error;
    return [];
  });
  for (let call = 0; call < calls; call++) await claim(64, () => ({}), 300, 0, 0).catch(() => undefined);
  return asked;
}

const failed = (status: number, code: string) => new DatabaseError("claim_predictions", status, code);

test.each([
  ["no answer", failed(0, "")],
  ["statement_timeout", failed(500, "57014")],
])(
  "claims that end with %s → the next ask for a quarter, one by one, and for twice as many after each success",
  async (_what, error) => {
    expect(await claimAgainAndAgain([error, error], 8)).toEqual([
      10,
      ...[3, 1, 2, 4, 8].map((most) => `${most} one by one`),
      10,
      10,
    ]);
  },
);

test("a claim that the database refuses → the next asks for as many", async () => {
  expect(await claimAgainAndAgain([failed(400, "P0001")], 2)).toEqual([10, 10]);
});

test("a claim with a row that was set aside → the tasks, and what to log of the row", async () => {
  const aside = { task: "set_aside", kind: "claim", id: "a", code: "P0001", failures: 2 };
  const claim = createClaim(async () => [{ task: "poll", id: "b" }, aside]);
  const { tasks, asides } = await claim(64, () => ({}), 300, 0, 0);
  expect(tasks).toEqual([{ task: "poll", id: "b" }]);
  expect(asides).toEqual([{ kind: "claim", id: "a", code: "P0001", failures: 2 }]);
});
