import { Button, Group, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconPlus } from "@tabler/icons-react";
import { useQueries, useQueryClient } from "@tanstack/react-query";
import { lazy, Suspense, useEffect, useRef, useState } from "react";
import { useNavigate } from "react-router";
import type { ProjectWithPredictions } from "../../../client/index.ts";
import { ProjectMenu } from "../projects/ProjectMenu.tsx";
import { projectKeys, runningOf, storePrediction } from "../projects/prediction-cache.ts";
import { FILM_ORDER, STATUS_WORD, STEP_NAME } from "../projects/status-words.ts";
import { useKeyframe } from "../services.ts";
import { BackLink, PageHead } from "../ui/page-parts.tsx";
import { AspectRatio } from "./AspectRatio.tsx";
import { FilmStrip } from "./FilmStrip.tsx";
import { ReferencePanel } from "./ReferencePanel.tsx";
import classes from "./studio.module.css";
import { TextsPanel } from "./texts/TextsPanel.tsx";
import { MONEY_KEY } from "../usage/use-usage.ts";
import { useTexts } from "./texts/use-texts.ts";

const NewProject = lazy(async () => ({ default: (await import("../projects/NewProject.tsx")).NewProject }));

export function Studio({ project }: { project: ProjectWithPredictions }) {
  const { projectId, title, predictions, takes, filmId } = project;
  const [isNext, next] = useDisclosure(false);
  const navigate = useNavigate();
  const texts = useTexts(project);
  useWatchPredictions(project);
  return (
    <>
      <div className={classes.head}>
        <BackLink
          to={filmId === null ? "/projects" : `/films/${filmId}`}
          label={filmId === null ? "Projects" : "Film"}
        />
        <PageHead
          title={title}
          actions={
            <Group gap="xs" wrap="nowrap">
              {filmId !== null && takes["last-frame"] !== null && (
                <Button variant="default" leftSection={<IconPlus size={18} aria-hidden />} onClick={next.open}>
                  Next shot
                </Button>
              )}
              <ProjectMenu project={project} onDeleted={() => void navigate("/projects")} />
            </Group>
          }
        />
      </div>
      <div className={classes.about}>
        <div className={classes.film}>
          <TextsPanel state={texts}>
            <AspectRatio project={project} />
          </TextsPanel>
        </div>
        <ReferencePanel project={project} />
      </div>
      <FilmStrip project={project} texts={texts} />
      {filmId !== null && isNext && (
        <Suspense>
          <NewProject isOpen onClose={next.close} filmId={filmId} after={projectId} />
        </Suspense>
      )}
      <StatusAnnouncer predictions={predictions} />
    </>
  );
}

/** Announces status changes to screen readers, not progress or time. */
function StatusAnnouncer({ predictions }: Pick<ProjectWithPredictions, "predictions">) {
  const now = FILM_ORDER.map((step) => {
    const prediction = predictions[step];
    return prediction === null ? "" : `${STEP_NAME[step]}: ${STATUS_WORD[prediction.status]}.`;
  });
  const [text, setText] = useState("");
  const before = useRef(now);
  const all = now.join(" ");
  // biome-ignore lint/correctness/useExhaustiveDependencies: the joined text stands for the list
  useEffect(() => {
    const changed = now.filter((words, at) => words !== "" && words !== before.current[at]);
    before.current = now;
    if (changed.length > 0) setText(changed.join(" "));
  }, [all]);
  return <VisuallyHidden role="status">{text}</VisuallyHidden>;
}

/**
 * Follows every running prediction, wherever it was started. Each is a query, so it stops with the page and is repeated while
 * the service is away.
 */
function useWatchPredictions(project: ProjectWithPredictions): void {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  useQueries({
    queries: runningOf(project).map(({ projectId, step, predictionId }) => ({
      queryKey: projectKeys.watch(predictionId),
      queryFn: async ({ signal }: { signal: AbortSignal }) => {
        const onProgress = (prediction: Parameters<typeof storePrediction>[1]) => storePrediction(queries, prediction);
        await keyframe.waitFor({ projectId, step, predictionId }, { signal, onProgress });
        void queries.invalidateQueries({ queryKey: MONEY_KEY });
        return null;
      },
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 0,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
    })),
  });
}
