import { PasswordInput, type PasswordInputProps } from "@mantine/core";

type Props = PasswordInputProps & { label: string; isNew: boolean };

/** A password manager offers the kept one, or makes a new one. */
export function PasswordField({ isNew, ...props }: Props) {
  return (
    <PasswordInput
      name={isNew ? "new-password" : "password"}
      autoComplete={isNew ? "new-password" : "current-password"}
      visibilityToggleFocusable
      visibilityToggleButtonProps={{ "aria-label": "Show the password" }}
      required
      withAsterisk={false}
      {...props}
    />
  );
}
