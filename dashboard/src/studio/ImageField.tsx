import { ActionIcon, FileButton, Group, Input, Text } from "@mantine/core";
import { IconPhotoPlus, IconX } from "@tabler/icons-react";
import { type ReactNode, useState } from "react";
import type { ProjectWithPredictions } from "../../../client/index.ts";
import { errorSentence } from "../ui/errors.ts";
import { KINDS, refuseImage, useAddReference } from "./reference-image.ts";
import { Frame } from "./Sources.tsx";
import classes from "./screen.module.css";
import { SmallButton } from "../ui/buttons.tsx";

type Props = {
  project: ProjectWithPredictions;
  label: string;
  /** Of one image. */
  noun: string;
  addLabel: string;
  /** Paths of uploaded images, or ids of frames. */
  images: string[];
  max: number;
  onChange: (images: string[]) => void;
  children?: ReactNode;
};

/** Images of the next prediction of a step: references, or one frame. */
export function ImageField({ project, label, noun, addLabel, images, max, onChange, children }: Props) {
  const [refusal, setRefusal] = useState<string | null>(null);
  const add = useAddReference((path) => onChange([...images, path]));
  const problem = refusal ?? (add.error === null ? null : errorSentence(add.error));
  const isFull = images.length >= max;
  const take = (file: File | null) => {
    if (file === null) return;
    const reason = refuseImage(file);
    setRefusal(reason);
    if (reason === null) add.mutate(file);
  };
  return (
    <Input.Wrapper label={label} labelElement="div" error={problem}>
      <Group gap="xs" mt={4}>
        {images.map((image, at) => {
          const name = max === 1 ? noun : `${noun} ${at + 1}`;
          return (
            <div key={image} className={classes.reference}>
              <Frame project={project} frame={image} alt={`${name.charAt(0).toUpperCase()}${name.slice(1)}`} />
              <ActionIcon
                size="xs"
                variant="default"
                aria-label={`Remove ${name}`}
                onClick={() => onChange(images.filter((one) => one !== image))}
              >
                <IconX size={12} aria-hidden />
              </ActionIcon>
            </div>
          );
        })}
        {!isFull && (
          <FileButton accept={KINDS.join()} onChange={take}>
            {(props) => (
              <SmallButton {...props} isBusy={add.isPending} Icon={IconPhotoPlus}>
                {addLabel}
              </SmallButton>
            )}
          </FileButton>
        )}
        {!isFull && children}
        {images.length > 1 && (
          <Text size="xs" c="dimmed">
            {images.length} of {max}
          </Text>
        )}
      </Group>
    </Input.Wrapper>
  );
}
