import { useQueryClient } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import type { Output } from "../../../client/index.ts";
import { readAgain } from "../queries/query-client.ts";
import { useServices } from "../services.ts";

export type ShownFile = Pick<Output, "url" | "path" | "contentType" | "width" | "height">;
/** A prediction, or the video of a shared film. */
export type Shown = { output: ShownFile | null };

type Props = {
  prediction: Shown;
  alt: string;
  title?: string;
  className: string | undefined;
  /** The time of a video's picture. Takes from one first frame begin alike. */
  seconds?: number;
  broken: (tryAgain: () => void) => ReactNode;
};

/** The picture of a take. A video shows one of its first pictures. */
export function TakePicture({ prediction, alt, broken, seconds = 0.1, ...given }: Props) {
  const { round, isBroken, onFailed, onLoaded, tryAgain } = useRenewOutput(prediction);
  const { output } = prediction;
  if (isBroken || output === null) return broken(tryAgain);
  const { url, contentType, width, height } = output;
  const shown = { ...given, width, height, onError: onFailed };
  return isPicture(contentType) ? (
    <img key={round} {...shown} src={url} alt={alt} loading="lazy" onLoad={onLoaded} />
  ) : (
    <video
      key={round}
      {...shown}
      src={`${url}#t=${seconds}`}
      aria-label={alt}
      preload="metadata"
      muted
      tabIndex={-1}
      onLoadedData={onLoaded}
    />
  );
}

/** A video model may return a moving picture, and a frame model may return a video. */
export const isPicture = (contentType: string): boolean => contentType.startsWith("image/");

/** Renews a file that fails to load: its URL may have expired, so everything is read once more. `isBroken`: that failed too. */
export function useRenewOutput(prediction: Shown) {
  const queries = useQueryClient();
  const { outputs } = useServices();
  const [failures, setFailures] = useState(0);
  const [round, setRound] = useState(0);
  const renew = () => {
    if (prediction.output !== null) outputs.delete(prediction.output.path);
    void readAgain(queries).then(() => setRound((before) => before + 1));
  };
  return {
    /** React key: forces a reload even when the new URL equals the old one (signed in the same second). */
    round,
    isBroken: failures > 1,
    onLoaded: () => setFailures(0),
    onFailed: () => {
      setFailures(failures + 1);
      if (failures === 0) renew();
    },
    tryAgain: () => {
      setFailures(1);
      renew();
    },
  };
}
