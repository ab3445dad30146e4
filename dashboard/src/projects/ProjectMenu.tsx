import { ActionIcon, Alert, Button, Group, Menu, Modal, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDots, IconPencil, IconPlayerPlay, IconTrash } from "@tabler/icons-react";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import { hasEnded, type KeyframeClient, KeyframeError, type ListedProject } from "../../../client/index.ts";
import { useKeyframe } from "../services.ts";
import { BusyButton } from "../ui/BusyButton.tsx";
import { ErrorNotice } from "../ui/messages.tsx";
import { RenameProject } from "./RenameProject.tsx";
import { runningOf } from "./prediction-cache.ts";
import { editLists } from "./project-queries.ts";

type Props = { project: ListedProject; onDeleted: () => void };

/** The menu of a project, with the windows that it opens. */
export function ProjectMenu({ project, onDeleted }: Props) {
  const target = useRef<HTMLButtonElement>(null);
  const [isRenaming, rename] = useDisclosure(false);
  const [isDeleting, remove] = useDisclosure(false);
  // A modal returns the focus to the element that had it; the menu's items are gone by then.
  const then = (open: () => void) => () => {
    target.current?.focus();
    open();
  };
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon ref={target} variant="subtle" color="gray" aria-label={`Actions for ${project.title}`}>
            <IconDots size={18} aria-hidden />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconPencil size={16} aria-hidden />} onClick={then(rename.open)}>
            Rename
          </Menu.Item>
          <Menu.Item
            c="var(--mantine-color-error)"
            leftSection={<IconTrash size={16} aria-hidden />}
            onClick={then(remove.open)}
          >
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <RenameProject project={project} isOpen={isRenaming} onClose={rename.close} />
      <DeleteProject project={project} isOpen={isDeleting} onClose={remove.close} onDeleted={onDeleted} />
    </>
  );
}

type DeleteProjectProps = {
  project: ListedProject;
  isOpen: boolean;
  onClose: () => void;
  onDeleted: () => void;
};

/** Confirms the deletion of a project and shows why it may be refused. */
function DeleteProject({ project, isOpen, onClose, onDeleted }: DeleteProjectProps) {
  const { projectId, title } = project;
  const remove = useDeleteProject(onDeleted);
  const close = () => {
    remove.reset();
    onClose();
  };
  const isRunning = isInProgress(remove.error) || runningOf(project).length > 0;
  return (
    <Modal opened={isOpen} onClose={close} title="Delete project?" centered>
      <Stack>
        <Text size="sm" style={{ overflowWrap: "anywhere" }}>
          “{title}” and its frames, videos and history will be deleted. This cannot be undone.
        </Text>
        <div role="status">
          {isRunning && (
            <Alert color="gray" icon={<IconPlayerPlay aria-hidden />} title="A step is still running">
              It will be canceled. The provider may charge for what it has done so far.
            </Alert>
          )}
        </div>
        {remove.error !== null && !isInProgress(remove.error) && (
          <ErrorNotice title="Could not delete the project" error={remove.error} />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={close} data-autofocus>
            Keep project
          </Button>
          <BusyButton
            color="red.9"
            isBusy={remove.isPending}
            onClick={() => remove.mutate({ projectId, cancelFirst: isRunning })}
          >
            {isRunning ? "Cancel and delete" : "Delete project"}
          </BusyButton>
        </Group>
      </Stack>
    </Modal>
  );
}

const isInProgress = (error: unknown): boolean =>
  error instanceof KeyframeError && error.code === "generation_in_progress";

/** Deletes a project, on demand with what runs. `not_found` counts as success: an earlier answer was lost. */
function useDeleteProject(onDeleted: (projectId: string) => void) {
  const keyframe = useKeyframe();
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ projectId, cancelFirst }: { projectId: string; cancelFirst: boolean }) => {
      if (cancelFirst) await cancelRunning(keyframe, projectId);
      await keyframe.deleteProject(projectId).catch((error: unknown) => {
        if (!(error instanceof KeyframeError) || error.code !== "not_found") throw error;
      });
    },
    onSuccess: (_none, { projectId }) => {
      editLists(queries, (projects) => projects.filter((project) => project.projectId !== projectId));
      onDeleted(projectId);
    },
  });
}

/** Cancels every running prediction of a project. One that has ended meanwhile is fine. */
async function cancelRunning(keyframe: KeyframeClient, projectId: string): Promise<void> {
  for await (const prediction of keyframe.eachPrediction(projectId, { limit: 100 })) {
    if (hasEnded(prediction)) continue;
    await keyframe.cancel(prediction).catch((error: unknown) => {
      if (!(error instanceof KeyframeError) || error.code !== "generation_ended") throw error;
    });
  }
}
