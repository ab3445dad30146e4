import { Button } from "@mantine/core";
import { IconMapSearch } from "@tabler/icons-react";
import { Link, useParams } from "react-router";
import { isGone, useProject } from "../projects/use-project.ts";
import { EmptyState } from "../ui/EmptyState.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { PageHead } from "../ui/PageHead.tsx";
import { Studio } from "./Studio.tsx";
import { StudioSkeleton } from "./StudioSkeleton.tsx";

/** Where one film is made. */
export function Component() {
  const { projectId = "" } = useParams();
  const { data, error, refetch } = useProject(projectId);
  if (isGone(error)) {
    return (
      <>
        <PageHead title="Studio" />
        <EmptyState
          Icon={IconMapSearch}
          title="There is no such project"
          text="It has been deleted, or it belongs to another account."
          action={
            <Button component={Link} to="/projects">
              To the projects
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
      <ErrorNotice title="The project could not be read" error={error} onRetry={() => void refetch()} />
    </>
  );
}
