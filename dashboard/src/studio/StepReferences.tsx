import { ActionIcon, Button, FileButton, Group, Input, Text } from "@mantine/core";
import { IconPhotoPlus, IconX } from "@tabler/icons-react";
import { useState } from "react";
import { BusyButton } from "../ui/BusyButton.tsx";
import { errorSentence } from "../ui/error-sentence.ts";
import { useAddReference } from "./reference-image.ts";
import { KINDS, refuseImage } from "./ReferenceDropzone.tsx";
import { ReferenceImage } from "./Sources.tsx";
import classes from "./screen.module.css";

type Props = {
  paths: string[];
  max: number;
  /** The project's image. */
  projectPath: string | null;
  onChange: (paths: string[]) => void;
};

/** The reference images of the next prediction of a step. */
export function StepReferences({ paths, max, projectPath, onChange }: Props) {
  const [refusal, setRefusal] = useState<string | null>(null);
  const add = useAddReference((path) => onChange([...paths, path]));
  const problem = refusal ?? (add.error === null ? null : errorSentence(add.error));
  const isFull = paths.length >= max;
  const take = (file: File | null) => {
    if (file === null) return;
    const reason = refuseImage(file);
    setRefusal(reason);
    if (reason === null) add.mutate(file);
  };
  return (
    <Input.Wrapper label="Reference images" labelElement="div" error={problem}>
      <Group gap="xs" mt={4}>
        {paths.map((path, at) => (
          <div key={path} className={classes.reference}>
            <ReferenceImage path={path} alt={`Reference image ${at + 1}`} />
            <ActionIcon
              size="xs"
              variant="default"
              aria-label={`Remove reference image ${at + 1}`}
              onClick={() => onChange(paths.filter((one) => one !== path))}
            >
              <IconX size={12} aria-hidden />
            </ActionIcon>
          </div>
        ))}
        {!isFull && (
          <FileButton accept={KINDS.join()} onChange={take}>
            {(props) => (
              <BusyButton
                {...props}
                size="xs"
                variant="default"
                isBusy={add.isPending}
                leftSection={<IconPhotoPlus size={14} aria-hidden />}
              >
                Add image
              </BusyButton>
            )}
          </FileButton>
        )}
        {!isFull && projectPath !== null && !paths.includes(projectPath) && (
          <Button size="xs" variant="default" onClick={() => onChange([projectPath, ...paths])}>
            Use the project's
          </Button>
        )}
        {paths.length > 1 && (
          <Text size="xs" c="dimmed">
            {paths.length} of {max}
          </Text>
        )}
      </Group>
    </Input.Wrapper>
  );
}
