import { type InfiniteData, queryOptions, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { Prediction, PredictionPage, ShotPrediction, Step } from "../../../client/index.ts";
import { type Services, useKeyframe, useServices } from "../services.ts";
import type { Ids } from "../session/UserMemory.tsx";
import { checkRows } from "./check-answer.ts";
import { useDeleted, useSelectShown } from "./delete-later.ts";
import { isRunning, WHILE_RUNNING_MS } from "./project-queries.ts";
import { PAGED } from "./query-client.ts";
import { queryKeys } from "./query-keys.ts";

export const A_PAGE = 10;

const shownOf = ({ pages }: InfiniteData<PredictionPage>, deleted: Ids) =>
  pages.flatMap(({ predictions }) => predictions).filter(({ predictionId }) => !deleted.has(predictionId));

/** The predictions of a step, page by page, newest first. */
export function usePredictions(projectId: string, step: Step, enabled: boolean, withHidden = false) {
  const keyframe = useKeyframe();
  const hidden = withHidden ? "true" : undefined;
  return useInfiniteQuery({
    queryKey: queryKeys.predictions(projectId, step, withHidden),
    queryFn: ({ pageParam: cursor, signal }) =>
      keyframe.predictions.list(projectId, { step, limit: A_PAGE, cursor, hidden }, { signal }),
    select: useSelectShown(shownOf),
    ...PAGED,
    enabled,
    staleTime: 0, // another tab may have changed it
    refetchInterval: ({ state }) =>
      state.data?.pages.some(({ predictions }) => predictions.some(isRunning)) ? WHILE_RUNNING_MS : false,
  });
}

/** Half the life of a signed URL. */
const RENEW_MS = 30 * 60_000;

/** Any prediction of this user, because a frame may belong to another project. Null when it is deleted. */
export const predictionQuery = ({ keyframe, callPlatform }: Services, predictionId: string) =>
  queryOptions({
    queryKey: queryKeys.prediction(predictionId),
    queryFn: async ({ signal }): Promise<Prediction | null> => {
      const where = `/rest/v1/predictions?select=projectId:project_id,step&id=eq.${predictionId}`;
      const [found] = checkRows(await callPlatform(where, { signal }), { projectId: "text", step: "text" });
      if (found === undefined) return null;
      const step = found.step as Step; // an enum in the database
      return await keyframe.predictions.read({ projectId: found.projectId, step, predictionId }, { signal });
    },
    staleTime: RENEW_MS,
  });

/** Predictions that were read with a project, or with a shot of a film. */
export type Known<One extends ShotPrediction = ShotPrediction> = {
  takes: Record<Step, One | null>;
  predictions?: Record<Step, One | null> | undefined;
};

/** The prediction with this id. Null: there is no id, or it is deleted. Undefined: it is not read yet. */
export function usePrediction<One extends ShotPrediction>(
  { predictions = NONE_KNOWN, takes }: Known<One>,
  predictionId: string | null,
): One | Prediction | null | undefined {
  const services = useServices();
  const deleted = useDeleted();
  const inProject = [...Object.values(predictions), ...Object.values(takes)];
  const known = inProject.find((one) => one?.predictionId === predictionId);
  const { data } = useQuery({
    ...predictionQuery(services, predictionId ?? ""),
    enabled: predictionId !== null && known == null,
    refetchInterval: RENEW_MS,
    refetchOnWindowFocus: "always", // another tab may have deleted it
  });
  return predictionId === null || deleted.has(predictionId) ? null : (known ?? data);
}

const NONE_KNOWN = { "first-frame": null, "last-frame": null, video: null };
