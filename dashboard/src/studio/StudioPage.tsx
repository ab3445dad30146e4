import { Button, Group, Skeleton, VisuallyHidden } from "@mantine/core";
import { IconMapSearch } from "@tabler/icons-react";
import { Link, useParams } from "react-router";
import { isGone, useProject } from "../projects/project-queries.ts";
import { FILM_ORDER } from "../projects/status.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { EmptyState, PageHead } from "../ui/page-parts.tsx";
import screen from "./screen.module.css";
import strip from "./strip.module.css";
import classes from "./studio.module.css";
import { Studio } from "./Studio.tsx";

export function Component() {
  const { projectId = "" } = useParams();
  const { data, error, refetch } = useProject(projectId);
  if (isGone(error)) {
    return (
      <>
        <PageHead title="Studio" />
        <EmptyState
          Icon={IconMapSearch}
          title="Project not found"
          text="It was deleted or belongs to another account."
          action={
            <Button component={Link} to="/projects">
              Go to projects
            </Button>
          }
        />
      </>
    );
  }
  if (data !== undefined) return <Studio key={projectId} project={data} />;
  if (error === null) return <StudioSkeleton />;
  return (
    <>
      <PageHead title="Studio" />
      <ErrorNotice title="Could not load the project" error={error} onRetry={() => void refetch()} />
    </>
  );
}

/** Placeholders of the final size. */
function StudioSkeleton() {
  return (
    <>
      <VisuallyHidden component="h1">Studio</VisuallyHidden>
      <VisuallyHidden role="status">Loading the project</VisuallyHidden>
      <div aria-hidden>
        <div className={classes.head}>
          <Group h={28}>
            <Skeleton h={16} w={80} />
          </Group>
          <Skeleton h={34} w="40%" />
        </div>
        <div className={classes.about}>
          <div className={classes.film}>
            <Skeleton className={classes.texts} />
          </div>
          <Skeleton className={classes.reference} />
        </div>
        <div className={strip.strip}>
          {FILM_ORDER.map((step) => (
            <div key={step} className={strip.step} data-step={step}>
              <div className={strip.film}>
                <div className={screen.screen} />
              </div>
              <div className={strip.body}>
                <Skeleton h={150} />
              </div>
            </div>
          ))}
        </div>
      </div>
    </>
  );
}
