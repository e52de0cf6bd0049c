// What the pointer does on a view beside looking; for now nothing is drawn.
export class Tools {
  down() {
    return false;
  }

  move() {}

  up() {}

  hover() {}

  doubled() {}

  wheel() {
    return false;
  }
}
