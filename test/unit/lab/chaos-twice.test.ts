import { expect, test } from "vitest";
import { KeyframeError } from "../../../client/index.ts";
import { createRandom } from "../../../lab/chaos/random.ts";
import { twice } from "../../../lab/chaos/users.ts";

const refused = new KeyframeError("balance_exhausted", "No.");
const unanswered = new KeyframeError("unavailable", "No.");

/** What two requests at once with one key come to, in turn. */
async function outcomeOf(...outcomes: [string | Error, string | Error]) {
  const ledger = { answers: [] };
  const user = { random: { ...createRandom("twice"), chance: () => true }, userId: "u" };
  const send = async () => {
    const outcome = outcomes.shift();
    if (outcome instanceof Error) throw outcome;
    return outcome ?? "";
  };
  const outcome = await twice(user, { ledger }, "key", "prediction", send, (id) => id).catch((error: unknown) => error);
  return { outcome, answers: ledger.answers.length };
}

test("a start refused before credit came, and its repetition accepted → accepted", async () => {
  expect(await outcomeOf("made", refused)).toEqual({ outcome: "made", answers: 1 });
  expect(await outcomeOf(refused, "made")).toEqual({ outcome: "made", answers: 1 });
});

test("a start refused once, and its repetition without an answer → no answer: it may have been accepted", async () => {
  expect(await outcomeOf(refused, unanswered)).toEqual({ outcome: unanswered, answers: 0 });
  expect(await outcomeOf(unanswered, refused)).toEqual({ outcome: unanswered, answers: 0 });
});
