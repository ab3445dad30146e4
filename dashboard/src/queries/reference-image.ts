import { useMutation, useQueries, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { lastFrameOf } from "../../../client/film.ts";
import type { Output, Prediction, Shot, ShotPrediction } from "../../../client/index.ts";
import { type PageClient, useKeyframe, useServices } from "../services.ts";
import { isRefused } from "../ui/errors.ts";
import { checkObject } from "./check-answer.ts";
import { CHANGES_NOTHING, readAgain } from "./query-client.ts";
import { mutationKeys, queryKeys } from "./query-keys.ts";

const LIFE_S = 3600;

/** A signed URL of an uploaded image. `data` is null if no file has this path. */
export function useReferenceAddress(path: string | null) {
  const { callPlatform, config } = useServices();
  return useQuery({
    queryKey: queryKeys.reference(path ?? ""),
    enabled: path !== null,
    queryFn: async () => {
      const sign = callPlatform(`/storage/v1/object/sign/${path}`, { json: { expiresIn: LIFE_S } });
      const answer = await sign.catch(nullIfRefused);
      if (answer === null) return null;
      return `${config.supabaseUrl}/storage/v1${checkObject(answer, { signedURL: "text" }).signedURL}`;
    },
    staleTime: (LIFE_S / 2) * 1000,
    refetchInterval: (LIFE_S / 2) * 1000,
  });
}

const nullIfRefused = (error: unknown) => (isRefused(error) ? null : Promise.reject(error));

/** Uploads images, or the files of takes. The page shows the local files. During an upload, another press does nothing. */
export function useAddReferences(onAdded: (paths: string[], images: (Blob | Prediction)[]) => unknown) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const mutationKey = mutationKeys.addReferences(useId());
  const add = useMutation({
    meta: CHANGES_NOTHING,
    mutationKey,
    mutationFn: async (images: (Blob | Prediction)[]) => {
      const paths: string[] = [];
      for (const image of images) {
        const file = image instanceof Blob ? image : await readTake(keyframe, image);
        const { referenceImagePath } = await keyframe.uploadReferenceImage(file);
        queries.setQueryData(queryKeys.reference(referenceImagePath), URL.createObjectURL(file)); // the URL refers to the file, and copies nothing
        paths.push(referenceImagePath);
      }
      return paths;
    },
    onSuccess: (paths, images) => {
      if (queries.isMutating({ mutationKey }) > 0) onAdded(paths, images); // after a sign-out, nothing is added
    },
  });
  const mutate: typeof add.mutate = (...given) => {
    if (queries.isMutating({ mutationKey }) === 0) add.mutate(...given);
  };
  return { ...add, mutate };
}

async function readTake(keyframe: PageClient, take: Prediction): Promise<Blob> {
  const file = await downloadTake(keyframe, take);
  const refusal = refuseImage(file);
  if (refusal !== null) throw new Error(refusal);
  return file;
}

/** The file of a take, with a URL that is valid. */
export async function readFile(keyframe: PageClient, take: ShotPrediction): Promise<Output> {
  const { output } = await keyframe.predictions.read(take);
  if (output === null) throw new Error("The file has been removed from Storage.");
  return output;
}

async function downloadTake(keyframe: PageClient, take: ShotPrediction): Promise<Blob> {
  const { url } = await readFile(keyframe, take);
  const answer = await fetch(url).catch(() => null);
  const file = answer?.ok ? await answer.blob().catch(() => null) : null;
  if (file === null) throw new Error("Could not read the file. Check your connection, then try again.");
  return file;
}

/** Stores missing end images of these shots' videos: the next shots start on them. Returns why that failed. */
export function useStoreEnds(shots: Pick<Shot, "takes">[]): Error | null {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  const videos = shots.flatMap(({ takes: { video } }) =>
    video?.output?.contentType.startsWith("video/") && video.endImagePath === null ? video : [],
  );
  const stored = useQueries({
    queries: videos.map((video) => ({
      queryKey: queryKeys.endOf(video.predictionId),
      queryFn: async () => {
        const now = await keyframe.predictions.read(video);
        if (now.endImagePath === null) await storeEnd(keyframe, now); // else another tab has stored it
        void readAgain(queries); // the next shot shows it
        return true;
      },
      staleTime: Number.POSITIVE_INFINITY,
      retry: false,
    })),
  });
  return stored.find(({ error }) => error !== null)?.error ?? null;
}

async function storeEnd(keyframe: PageClient, video: Prediction): Promise<void> {
  const image = await lastFrameOf(await downloadTake(keyframe, video));
  const { referenceImagePath } = await keyframe.uploadReferenceImage(image);
  await keyframe.predictions.storeEndImage(video, referenceImagePath);
}

/** The types that the file dialog offers. The service checks the bytes itself. */
export const KINDS = ["image/png", "image/jpeg", "image/webp"];
const LIMIT_BYTES = 10 * 1024 * 1024;

/** Why an image cannot be uploaded. Null when it can. */
export function refuseImage({ type, size }: Blob): string | null {
  if (!type.startsWith("image/")) return "Not a PNG, JPEG or WebP image.";
  return size > LIMIT_BYTES ? "The image is larger than 10 MiB. Choose a smaller one." : null;
}
