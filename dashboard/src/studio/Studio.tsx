import { Anchor, Group, Skeleton } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconArrowLeft } from "@tabler/icons-react";
import { lazy, Suspense } from "react";
import { Link, useNavigate } from "react-router";
import type { ProjectWithPredictions } from "../../../client/index.ts";
import { DeleteProject } from "../projects/DeleteProject.tsx";
import { ProjectMenu } from "../projects/ProjectMenu.tsx";
import { PageHead } from "../ui/PageHead.tsx";
import { FilmStrip } from "./FilmStrip.tsx";
import { ReferencePanel } from "./ReferencePanel.tsx";
import { RunAnnouncer } from "./RunAnnouncer.tsx";
import classes from "./studio.module.css";
import { useReferenceImage } from "./use-reference-image.ts";
import { useWatchRuns } from "./use-watch-runs.ts";

const TextsPanel = lazy(() => import("./TextsPanel.tsx"));

/** Texts and reference image side by side above, so that the three steps below need little scrolling. */
export function Studio({ project }: { project: ProjectWithPredictions }) {
  const { projectId, title, predictions } = project;
  const navigate = useNavigate();
  const image = useReferenceImage(projectId);
  const [isDeleting, { open, close }] = useDisclosure(false);
  useWatchRuns(project);
  return (
    <>
      <div className={classes.about}>
        <div className={classes.film}>
          <Group justify="space-between">
            <Anchor component={Link} to="/projects" size="sm" className={classes.back}>
              <IconArrowLeft size={16} aria-hidden /> Projects
            </Anchor>
            <ProjectMenu title={title} onDelete={open} />
          </Group>
          <div className={classes.head}>
            <PageHead title={title} />
          </div>
          <Suspense fallback={<Skeleton className={classes.texts} />}>
            <TextsPanel project={project} />
          </Suspense>
        </div>
        <ReferencePanel image={image} />
      </div>
      <FilmStrip project={project} reference={image.path} />
      <RunAnnouncer predictions={predictions} />
      <DeleteProject
        project={project}
        isOpen={isDeleting}
        onClose={close}
        onDeleted={() => void navigate("/projects")}
      />
    </>
  );
}
