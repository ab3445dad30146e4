import { Button, Center, Stack, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconMovie, IconPlus } from "@tabler/icons-react";
import { BusyButton } from "../ui/BusyButton.tsx";
import { EmptyState } from "../ui/EmptyState.tsx";
import { ErrorNotice } from "../ui/ErrorNotice.tsx";
import { PageHead } from "../ui/PageHead.tsx";
import { CardSkeletons } from "./CardSkeletons.tsx";
import { NewProject } from "./NewProject.tsx";
import { ProjectGrid } from "./ProjectGrid.tsx";
import classes from "./projects.module.css";
import { useProjects } from "./use-projects.ts";

/** All projects of the person, newest first. */
export function Component() {
  const { data, error, refetch, hasNextPage, fetchNextPage, isFetchingNextPage, isFetchNextPageError } = useProjects();
  const [isNew, { open, close }] = useDisclosure(false);
  const projects = data?.pages.flatMap((page) => page.projects);
  const create = (
    <Button leftSection={<IconPlus size={18} aria-hidden />} onClick={open}>
      New project
    </Button>
  );
  return (
    <>
      <PageHead title="Projects" actions={projects?.length === 0 ? null : create} />
      <Stack gap="lg">
        {error !== null && !isFetchNextPageError && (
          <ErrorNotice title="The projects could not be read" error={error} onRetry={() => void refetch()} />
        )}
        {projects === undefined && error === null && (
          <div className={classes.grid}>
            <VisuallyHidden role="status">Reading your projects</VisuallyHidden>
            <CardSkeletons count={6} />
          </div>
        )}
        {projects?.length === 0 && (
          <EmptyState
            Icon={IconMovie}
            title="Your first film starts with a sentence"
            text="Describe a scene. Keyframe makes its first frame, its last frame, and the video between them."
            action={create}
          />
        )}
        {projects !== undefined && projects.length > 0 && <ProjectGrid projects={projects} />}
        {isFetchNextPageError && <ErrorNotice title="No more could be read" error={error} />}
        {hasNextPage && (
          <Center>
            <BusyButton variant="default" isBusy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
              Load more
            </BusyButton>
          </Center>
        )}
      </Stack>
      <NewProject isOpen={isNew} onClose={close} />
    </>
  );
}
