import { expect, test } from "vitest";
import { createRefusals } from "../../../shared/api/http/refusals.ts";

function setUp() {
  let at = 0;
  const sleeping: (() => void)[] = [];
  const sleep = () => new Promise<void>((end) => sleeping.push(end));
  const refusals = createRefusals({ elapsed: () => at, sleep });
  return {
    refusals,
    sleeping,
    go: (ms: number) => {
      at += ms;
    },
    refuse: (owner = "anna") => void refusals.hold(owner, new AbortController().signal),
  };
}

test("an owner's first refusal → answered at once; another within two seconds → a second later, for at most 64 at a time", () => {
  const { refuse, sleeping, go } = setUp();
  refuse();
  refuse("berta");
  go(2_001);
  refuse();
  expect(sleeping).toEqual([]);
  for (let i = 0; i < 70; i++) refuse();
  expect(sleeping).toHaveLength(64);
  refuse("carla");
  expect(sleeping).toHaveLength(64);
});

test("an owner is refused for ten seconds without a pause → named until two seconds after the last; other owners are not", () => {
  const { refuse, refusals, go } = setUp();
  refuse("berta");
  for (let seconds = 0; seconds < 10; seconds++) {
    refuse();
    expect(refusals.named()).toEqual([]);
    go(1_001);
  }
  refuse();
  expect(refusals.named()).toMatchObject([{ ownerId: "anna", seconds: expect.closeTo(10, 0) }]);
  go(2_001);
  expect(refusals.named()).toEqual([]);
});
