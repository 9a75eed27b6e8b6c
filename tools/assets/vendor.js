// What the pages use of other people's libraries, in one script without modules: a page that is
// opened by double-click may not import any.
export {
  AmbientLight, BufferAttribute, BufferGeometry, Color, CylinderGeometry, DirectionalLight,
  DoubleSide, DynamicDrawUsage, Group, InstancedMesh, LineBasicMaterial, LineSegments, Matrix4,
  Mesh, MeshStandardMaterial, OrthographicCamera, PerspectiveCamera, Quaternion, Scene,
  SphereGeometry, TorusGeometry, BoxGeometry, Vector2, Vector3, WebGLRenderer,
} from "three";
export { OrbitControls } from "three/addons/controls/OrbitControls.js";
export { LineMaterial } from "three/addons/lines/LineMaterial.js";
export { LineSegments2 } from "three/addons/lines/LineSegments2.js";
export { LineSegmentsGeometry } from "three/addons/lines/LineSegmentsGeometry.js";
export { default as Plot } from "uplot";
