import { afterEach, expect, test, vi } from "vitest";
import { draftOf } from "../../../dashboard/src/session/use-draft.ts";

afterEach(() => void vi.unstubAllGlobals());

test.each(['{"title":', "null", "1", "[]"])(
  "a stored draft is damaged, %s → dropped, and the next one is kept",
  (damaged) => {
    const stored = new Map([["keyframe-draft Anna new project", damaged]]);
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, text: string) => void stored.set(key, text),
    });
    const { read, change } = draftOf("Anna", "new project", { title: "" });
    expect(read()).toEqual({ title: "" });
    change((draft) => ({ ...draft, title: "Harbour" }));
    expect(read()).toEqual({ title: "Harbour" });
  },
);
