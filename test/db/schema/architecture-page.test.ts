import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { useDatabase } from "../../support/database/clone-database.ts";

const page = await readFile(new URL("../../../docs/architecture.md", import.meta.url), "utf8");
const section = (title: string) => page.split(/^## /m).find((one) => one.startsWith(title)) ?? "";

const db = useDatabase();

test("the state diagram in docs/architecture.md → the moves of keyframe_private.prediction_moves, each with its cause", async () => {
  const moves = await db.sql<{ move: string }[]>`
    select from_status || ' ' || to_status as move from keyframe_private.prediction_moves`;
  const arrows = [...section("States of a prediction").matchAll(/^ {2}(\w+) --> (\w+): \w.*$/gm)].map(
    ([, from, to]) => `${from} ${to}`,
  );
  expect(arrows.toSorted()).toEqual(moves.map(({ move }) => move).toSorted());
});
