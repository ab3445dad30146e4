import { expect, test } from "vitest";
import { guideAddress } from "../../../dashboard/src/ui/GuideLink.tsx";

test("a guide → its page in the repository; while package.json does not name the owner, no address, which would be dead", () => {
  const of = (owner: string) => guideAddress("docs/agents.md", `git+https://github.com/${owner}/keyframe.git`);
  expect(of("a")).toBe("https://github.com/a/keyframe/blob/main/docs/agents.md");
  expect(of("<owner>")).toBeNull();
});
