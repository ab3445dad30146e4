import { Skeleton, Stack, VisuallyHidden } from "@mantine/core";
import { useParams } from "react-router";
import { isGone, useProject } from "../projects/project-queries.ts";
import { ErrorNotice } from "../ui/messages.tsx";
import { Missing, PageHead } from "../ui/page-parts.tsx";
import { Studio } from "./Studio.tsx";

export function Component() {
  const { projectId = "" } = useParams();
  const { data, error, refetch } = useProject(projectId);
  if (isGone(error)) {
    const text = "It was deleted or belongs to another account.";
    return <Missing title="Project not found" text={text} to="/projects" label="Go to projects" />;
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
    <Stack gap="md">
      <VisuallyHidden component="h1">Studio</VisuallyHidden>
      <VisuallyHidden role="status">Loading the project</VisuallyHidden>
      <Skeleton h={62} w="40%" />
      <Skeleton h={185} />
      <Skeleton h={590} />
    </Stack>
  );
}
