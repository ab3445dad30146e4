import { expect, test } from "vitest";
import { guideAddress } from "../../../dashboard/src/ui/GuideLink.tsx";

test("a guide's link → its page in the repository; while package.json does not name the owner → no link", () => {
  const of = (owner: string) => guideAddress("docs/agents.md", `git+https://github.com/${owner}/keyframe.git`);
  expect(of("a")).toBe("https://github.com/a/keyframe/blob/main/docs/agents.md");
  expect(of("<owner>")).toBeNull();
});
