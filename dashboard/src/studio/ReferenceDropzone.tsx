import { Stack, Text } from "@mantine/core";
import { Dropzone, type FileRejection } from "@mantine/dropzone";
import "@mantine/dropzone/styles.css";
import { IconPhotoPlus, IconPhotoX, IconUpload } from "@tabler/icons-react";
import type { ReactNode, Ref } from "react";
import classes from "./reference.module.css";

/** The service checks the bytes itself. */
const KINDS = ["image/png", "image/jpeg", "image/webp"];
const LIMIT_BYTES = 10 * 1024 * 1024;

type Props = {
  isBusy: boolean;
  openRef: Ref<() => void>;
  onFile: (file: Blob) => void;
  onRefused: (sentence: string) => void;
  /** The current image. */
  children: ReactNode;
};

/** Drop or click. Keyboard users use the button beside it, which opens through `openRef`. */
export default function ReferenceDropzone({ isBusy, openRef, onFile, onRefused, children }: Props) {
  const refuse = ([rejection]: FileRejection[]) => onRefused(sentenceFor(rejection?.errors[0]?.code));
  return (
    <Dropzone
      className={classes.zone}
      accept={KINDS}
      maxSize={LIMIT_BYTES}
      multiple={false}
      loading={isBusy}
      openRef={openRef}
      onDrop={([file]) => file !== undefined && onFile(file)}
      onReject={refuse}
      activateOnKeyboard={false}
      p={0}
    >
      <Dropzone.Accept>
        <Words Icon={IconUpload} text="Drop to upload" />
      </Dropzone.Accept>
      <Dropzone.Reject>
        <Words Icon={IconPhotoX} text="Not supported" />
      </Dropzone.Reject>
      <Dropzone.Idle>
        {children ?? (
          <Words
            Icon={IconPhotoPlus}
            text="Drop an image whose look frames follow"
            more="PNG, JPEG or WebP, up to 10 MiB"
          />
        )}
      </Dropzone.Idle>
    </Dropzone>
  );
}

function Words({ Icon, text, more }: { Icon: typeof IconUpload; text: string; more?: string }) {
  return (
    <Stack gap={4} align="center" justify="center" h="100%" ta="center">
      <Icon size={32} stroke={1.2} aria-hidden />
      <Text size="sm">{text}</Text>
      {more !== undefined && (
        <Text size="xs" c="dimmed">
          {more}
        </Text>
      )}
    </Stack>
  );
}

function sentenceFor(code: string | undefined): string {
  if (code === "file-too-large") return "The image is larger than 10 MiB. Choose a smaller one.";
  if (code === "too-many-files") return "Choose one image.";
  return "Not a PNG, JPEG or WebP image.";
}
