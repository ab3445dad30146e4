import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { Usage, UsageGroup } from "../../../client/index.ts";
import { checkRows } from "../queries/check-answer.ts";
import { queryKeys } from "../queries/query-keys.ts";
import { useKeyframe, useServices } from "../services.ts";

/** The sums of a month in UTC, and the budgets. `month`: for example 2026-03. By default the current month. */
export function useUsage(groupBy: UsageGroup, month = "") {
  const keyframe = useKeyframe();
  return useQuery({
    queryKey: queryKeys.usage(groupBy, month),
    queryFn: ({ signal }) => keyframe.usage({ groupBy, ...daysOf(month) }, { signal }),
    placeholderData: keepPreviousData,
  });
}

function daysOf(month: string): { from?: string; to?: string } {
  if (month === "") return {};
  const end = new Date(`${month}-01`);
  end.setUTCMonth(end.getUTCMonth() + 1, 0);
  return { from: `${month}-01`, to: end.toISOString().slice(0, 10) };
}

/** The gateway refuses an address with more ids. */
const MAX_TITLES = 100;

/** The titles of the summed projects, by id. A missing project was deleted. */
export function useTitles({ groupBy, groups }: Usage) {
  const { callPlatform } = useServices();
  const ids = groups.slice(0, MAX_TITLES).map(({ key }) => key);
  return useQuery({
    queryKey: queryKeys.titles(ids),
    queryFn: async ({ signal }) => {
      const path = `/rest/v1/projects?select=id,title&id=in.(${ids})`;
      const rows = checkRows(await callPlatform(path, { signal }), { id: "text", title: "text" });
      return new Map(rows.map(({ id, title }) => [id, title]));
    },
    enabled: groupBy === "project" && ids.length > 0,
    placeholderData: keepPreviousData,
  }).data;
}
